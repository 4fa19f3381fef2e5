import { native } from './loader.ts'

/** What KVM can do on this host; see `crates/runtime/src/preflight/`. */
export interface KvmPreflight {
  readonly tiers: readonly {
    readonly id: 'open' | 'api-version' | 'create-vm' | 'real-mode-hlt' | 'long-mode'
    readonly outcome: 'ok' | 'failed' | 'not-run'
    /** One sentence of what was seen. */
    readonly detail: string
    readonly remedy?: string | null
    readonly durationMs: number
  }[]
  /** `native`: the processor runs guest kernels. `emulated`: only firmware-only guests run well. `unusable`: none. */
  readonly verdict: 'native' | 'emulated' | 'unusable'
  /** The evidence of the long-mode loop; null when it did not run. */
  readonly insnEmulation: unknown
}

/** Counts of the runtime in this process, in BoxLite's words. */
export interface RuntimeMetrics {
  /** Boxes whose engine runs right now, counted by looking at the processes. */
  readonly numRunningBoxes: number
  readonly boxesCreatedTotal: number
  readonly boxesFailedTotal: number
  readonly totalCommandsExecuted: number
  readonly totalExecErrors: number
}

/** Tests what KVM can do here; takes well under a second, off the event loop. */
export async function kvmPreflight(kvmPath = '/dev/kvm'): Promise<KvmPreflight> {
  return JSON.parse(await native().kvmPreflight(kvmPath)) as KvmPreflight
}

/** The host's TSC frequency in kHz, measured once a process (40 ms). */
export function hostTscKhz(): number {
  return native().hostTscKhz()
}

/** Counts of the runtime in this process. */
export function runtimeMetrics(): RuntimeMetrics {
  return JSON.parse(native().runtimeMetrics()) as RuntimeMetrics
}

/** Ids of the boxes of this process whose engine runs. */
export function runningBoxes(): string[] {
  return JSON.parse(native().runningBoxes()) as string[]
}

/** The SHA-256 of a file in hex, remembered while the file stays as it is. */
export async function fileSha256(path: string): Promise<string> {
  return native().fileSha256(path)
}
