/** How the engine's process ended. */
export interface EngineExit {
  readonly code?: number
  /** The signal's number. */
  readonly signal?: number
}

/** What the host says about its memory. */
export interface HostMemory {
  /** What the host could give out when the box started, in MiB (`MemAvailable`, or what its cgroup leaves). */
  readonly availableMib?: number
  /** Processes that the host or the box's cgroup killed for lack of memory during the box's life (`oom_kill`). */
  readonly oomKills?: number
  /** Lines of the host's kernel log from the box's life. */
  readonly kernelLog?: string
}

/**
 * What is known about a box that failed. Plain data, every field optional: a rule whose facts are absent does not
 * match, and says nothing about them.
 */
export interface BootEvidence {
  /** The error's code, `ERR_BOX_…`. */
  readonly code?: string
  /** The error's message. */
  readonly message?: string
  /** The errno in the guest, if a system call of the agent's failed. */
  readonly errno?: number
  /** True where no kernel was given, so that only a mark tells whether one runs. */
  readonly firmware?: boolean
  /** The last mark that was reached. */
  readonly lastMark?: string
  /** Time since that mark, in ms. */
  readonly sinceMs?: number
  /** Time from the guest's first instruction (`vm-start`) to the failure, in ms. */
  readonly elapsedMs?: number
  /** Time since the console's last byte, in ms. */
  readonly consoleQuietMs?: number
  readonly exit?: EngineExit
  /** The console, whole or its end. */
  readonly console?: Uint8Array | string
  /** The number of the console's first line, where `console` is only its end; default 1. */
  readonly consoleLine?: number
  /** What the engine wrote to its stderr. */
  readonly engineLog?: string
  /** The engine's process id, to find it in the host's kernel log. */
  readonly enginePid?: number
  /** `kvm`, `tcg` or `auto` as asked for, and what QMP proved after the start. */
  readonly accelerator?: { readonly asked?: string; readonly proved?: string }
  /** What the preflight found about this host's KVM. */
  readonly kvmVerdict?: 'native' | 'emulated' | 'unusable'
  /** The kernel's architecture, `x86_64` or `aarch64` or another name of these. */
  readonly kernelArch?: string
  /** The architecture that the engine emulates. */
  readonly engineArch?: string
  /** The guest's memory, in MiB. */
  readonly memoryMib?: number
  readonly host?: HostMemory
}
