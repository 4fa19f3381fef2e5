import { join } from 'node:path'
import type { BoxError, MarkLine } from '@boxlab/native'
import type { BootEvidence } from '@boxlab/probes'
import { hostPreflight } from '../preflight/kvm.ts'
import { engineArchitecture, kernelArchitecture } from './architectures.ts'
import type { BootFacts } from './boot-facts.ts'
import { type ConsoleEnd, textEnd } from './console-end.ts'
import type { FailedCall } from './explain-failure.ts'
import { hostSince } from './host-memory.ts'
import type { Reached } from './reached.ts'

/** Longer than a preflight takes: an error does not wait for a sick host. */
const preflightMs = 1000
const sigkill = 9

/** The runtime measured the time since the last mark when it failed; from then on the engine was being ended. */
export function failureTime({ lastMark, sinceMs }: BoxError, marks: readonly MarkLine[]): number {
  const nowNs = Number(process.hrtime.bigint())
  if (lastMark === undefined || sinceMs === undefined) return nowNs
  const last = marks.findLast(({ mark, clock }) => mark === lastMark && clock === 'host')
  return last === undefined ? nowNs : Math.min(nowNs, last.atNs + sinceMs * 1e6)
}

/** For rules, `ready` is another name of the mark that made the box ready, and marks of users are no progress. */
export function times(
  { lastMark }: Reached,
  marks: readonly MarkLine[],
  failedNs: number,
  console: ConsoleEnd | undefined,
): Pick<BootEvidence, 'lastMark' | 'sinceMs' | 'elapsedMs' | 'consoleQuietMs'> {
  const host = marks.filter(({ clock, atNs }) => clock === 'host' && atNs <= failedNs)
  const known = host.filter(({ mark }) => mark !== 'ready' && !mark.startsWith('user:'))
  const last =
    lastMark === 'ready' || lastMark?.startsWith('user:')
      ? known.at(-1)
      : host.findLast(({ mark }) => mark === lastMark)
  const start = host.find(({ mark }) => mark === 'vm-start')
  const quietMs = console?.lastNs === undefined ? undefined : Math.max(0, (failedNs - console.lastNs) / 1e6)
  return {
    ...(last && { lastMark: last.mark, sinceMs: (failedNs - last.atNs) / 1e6 }),
    ...(start && { elapsedMs: (failedNs - start.atNs) / 1e6 }),
    ...(quietMs !== undefined && { consoleQuietMs: quietMs }),
  }
}

export function logOf(record: string | undefined): Pick<BootEvidence, 'engineLog'> {
  const engineLog = record === undefined ? undefined : textEnd(join(record, 'engine.log'))
  return engineLog === undefined ? {} : { engineLog }
}

/** The preflight's answer is known by now wherever KVM had a part in it: the plan asked for it. */
export async function kvmFacts(
  { code }: BoxError,
  { asked, proved }: { readonly asked: string; readonly proved?: string },
  kvmPath: string | undefined,
): Promise<Pick<BootEvidence, 'kvmVerdict'>> {
  if (asked === 'tcg' || code.startsWith('ERR_IMAGE_') || (asked === 'auto' && proved === 'tcg')) return {}
  const asking = hostPreflight(kvmPath === undefined ? {} : { kvmPath }).catch(() => undefined)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, preflightMs, undefined)
  })
  const answer = await Promise.race([asking, late])
  clearTimeout(timer)
  return answer ? { kvmVerdict: answer.verdict } : {}
}

export function architectures(
  { summary }: BoxError,
  { options }: FailedCall,
  file: BootFacts,
): Pick<BootEvidence, 'kernelArch' | 'engineArch'> {
  const given = typeof options?.kernel === 'string' ? options.kernel : undefined
  const kernel = file.kernel ?? given ?? /^The `kernel` option (.+?) cannot be used: /.exec(summary)?.[1]
  const kernelArch = kernel === undefined ? undefined : kernelArchitecture(kernel)
  const engineArch = engineArchitecture(file.binary ?? options?.engine ?? 'qemu-system-x86_64')
  return { ...(kernelArch !== undefined && { kernelArch }), ...(engineArch !== undefined && { engineArch }) }
}

export function hostFacts(
  { code, exit }: BoxError,
  { host, machine }: FailedCall,
  { pid }: BootFacts,
): Partial<BootEvidence> {
  // Only an engine that somebody killed was killed for memory; the log of a host may be long.
  if (host === undefined || code !== 'ERR_BOX_ENGINE_EXITED' || exit?.signal !== sigkill) return {}
  const enginePid = pid ?? machine?.pid
  return { host: hostSince(host, { log: true }), ...(enginePid !== undefined && { enginePid }) }
}
