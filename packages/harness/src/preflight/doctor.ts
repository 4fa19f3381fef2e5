import { cpus, release, totalmem } from 'node:os'
import { type KvmPreflight, NativeError } from '@boxlab/native'
import { stateRoot } from '../state-root.ts'
import { chooseAccelerator } from './accelerator.ts'
import { engineFinding } from './engine-finding.ts'
import { facilityFindings } from './facility-findings.ts'
import type { Finding } from './finding.ts'
import { busyboxFinding, kernelFinding } from './guest-findings.ts'
import { clockFinding, cpusFinding, memoryFinding, platformFinding, stateFinding } from './host-findings.ts'
import { hostPreflight, kvmDevice } from './kvm.ts'
import { kvmFindings } from './kvm-findings.ts'
import { addonFinding, agentFinding } from './native-findings.ts'
import type { BoxAccelerators, Requirement } from './requirements.ts'
import { judge, type Verdict } from './verdict.ts'

/** What to examine. */
export interface DoctorOptions {
  /** The KVM device. Default `BOXLAB_KVM`, else `/dev/kvm`. */
  readonly kvmPath?: string
  /** The state root. Default {@link stateRoot}. */
  readonly cacheRoot?: string
  /** The QEMU program. Default `qemu-system-x86_64` from PATH. */
  readonly engine?: string
  /** What the host must give; where it does not, the verdict is `unusable`. Default nothing in particular. */
  readonly require?: readonly Requirement[]
}

/** What this host can do for boxes, as plain data. Absent values are left out, never null or 0. */
export interface DoctorReport extends Verdict {
  readonly format: 'boxlab-doctor'
  readonly version: 1
  readonly examinedAt: string
  readonly host: {
    readonly cpuModel?: string
    readonly cpus: number
    readonly memoryMib: number
    readonly kernel: string
  }
  readonly kvm: { readonly path: string; readonly verdict?: KvmPreflight['verdict'] }
  /** What `accel: 'auto'` takes, and why; absent where the native runtime does not load. */
  readonly boxes?: BoxAccelerators
  readonly required: readonly Requirement[]
  readonly findings: readonly Finding[]
  readonly durationMs: number
}

/** Examines the host, each thing by trying it. Takes well under a second; only the answer about KVM is kept. */
export async function examineHost(options: DoctorOptions = {}): Promise<DoctorReport> {
  const startMs = performance.now()
  const root = options.cacheRoot ?? stateRoot()
  const kvmPath = options.kvmPath ?? kvmDevice()
  const required = options.require ?? []
  const preflight = await askKvm(kvmPath, root)
  const looks = await Promise.all([
    platformFinding(),
    engineFinding(options.engine),
    addonFinding(),
    agentFinding(),
    stateFinding(root),
    kernelFinding(root),
    busyboxFinding(),
    memoryFinding(),
    cpusFinding(),
    clockFinding(),
    ...facilityFindings(),
  ])
  const findings = [...looks.slice(0, 5), ...kvmFindings(preflight), ...looks.slice(5)]
  const boxes = preflight && {
    linux: chooseAccelerator('auto', 'linux', preflight),
    firmware: chooseAccelerator('auto', 'firmware', preflight),
  }
  return {
    format: 'boxlab-doctor',
    version: 1,
    ...judge({ findings, kvm: preflight }, required),
    examinedAt: new Date().toISOString(),
    host: hostFacts(),
    kvm: { path: kvmPath, ...(preflight && { verdict: preflight.verdict }) },
    ...(boxes && { boxes }),
    required,
    findings,
    durationMs: performance.now() - startMs,
  }
}

/** Tests KVM anew, alone, since its loop is timed; what it says is kept for the boxes that follow. */
async function askKvm(kvmPath: string, cacheRoot: string): Promise<KvmPreflight | undefined> {
  try {
    return await hostPreflight({ kvmPath, cacheRoot, refresh: true })
  } catch (error) {
    // The finding on the runtime tells why.
    if (error instanceof NativeError) return undefined
    throw error
  }
}

function hostFacts(): DoctorReport['host'] {
  const all = cpus()
  const cpuModel = all[0]?.model
  return {
    ...(cpuModel && { cpuModel }),
    cpus: all.length,
    memoryMib: Math.round(totalmem() / (1 << 20)),
    kernel: release(),
  }
}
