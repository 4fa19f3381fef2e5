import { resolve } from 'node:path'
import { type KvmPreflight, kvmPreflight } from '@boxlab/native'
import { stateRoot } from '../state-root.ts'
import { identifyDevice, recallPreflight, rememberPreflight } from './kvm-memory.ts'

/** How the host's KVM is looked at. */
export interface HostPreflightOptions {
  /** The device. Default {@link kvmDevice}. */
  readonly kvmPath?: string
  /** The state root, in which the answer is kept. Default {@link stateRoot}. */
  readonly cacheRoot?: string
  /** Tests again although an answer is kept. Default false. */
  readonly refresh?: boolean
}

/**
 * The KVM device: the environment variable `BOXLAB_KVM`, else `/dev/kvm`. A host that keeps its device elsewhere sets
 * the variable; a path that does not exist shows how this host does without KVM.
 */
export function kvmDevice(environment: NodeJS.ProcessEnv = process.env): string {
  const given = environment['BOXLAB_KVM']
  return given ? resolve(given) : '/dev/kvm'
}

const answers = new Map<string, Promise<KvmPreflight>>()

/**
 * What KVM can do on this host, by a real test of it (30 to 300 ms). The test runs once a process, and its answer is
 * kept in the state root for later processes, until the host, its kernel, the device or the user is another one.
 */
export function hostPreflight(options: HostPreflightOptions = {}): Promise<KvmPreflight> {
  const kvmPath = options.kvmPath ?? kvmDevice()
  const known = options.refresh ? undefined : answers.get(kvmPath)
  if (known) return known
  const answer = answerFor(kvmPath, options)
  answers.set(kvmPath, answer)
  // What could not even be asked (a missing addon) is asked again.
  answer.catch(() => answers.delete(kvmPath))
  return answer
}

async function answerFor(kvmPath: string, options: HostPreflightOptions): Promise<KvmPreflight> {
  const root = options.cacheRoot ?? stateRoot()
  const device = await identifyDevice(kvmPath)
  const kept = device && !options.refresh ? await recallPreflight(root, device) : undefined
  if (kept) return kept
  const preflight = await kvmPreflight(kvmPath)
  // An unusable KVM fails fast, may be a moment's overload, and its repair must be seen at once: it is never kept.
  if (device && preflight.verdict !== 'unusable') await rememberPreflight(root, device, preflight)
  return preflight
}
