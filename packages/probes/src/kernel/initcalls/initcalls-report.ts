import type { InitcallsDiagnostic } from './initcalls-diagnostics.ts'

/** Where a duration comes from: the kernel's own figure, or the difference of the stamps of two lines. */
export type TimeSource = 'usecs' | 'timestamps'

/** Why there is no duration. */
export type NoDuration = 'unfinished' | 'return-lost'

/**
 * How a probe went. A driver says that it does not want the device (`declined`: ENODEV, ENXIO), that it comes again later
 * (`deferred`: EPROBE_DEFER), or an error. Before Linux 5.14 the kernel printed 1 for bound and 0 for all the rest
 * (`not-bound`).
 */
export type ProbeOutcome = 'bound' | 'deferred' | 'declined' | 'failed' | 'not-bound'

/** A driver looked at a device. Times are us; a start is the stamp of the line less the duration. */
export interface Probe {
  readonly device: string
  /** The driver, where a message of the device in this time names it. */
  readonly driver?: string
  /** As printed: an errno may be positive (drivers/base/dd.c). */
  readonly returned: number
  /** Absent where the kernel's age is not known and the value may mean either. */
  readonly outcome?: ProbeOutcome
  /** The how manyth probe of this device. */
  readonly attempt: number
  readonly line: number
  readonly startUs?: number
  readonly durationUs: number
  /** The duration is a whole number of ticks. */
  readonly quantised?: true
  /** How its call was found: by the driver's name, by its thread, or only because it was open then. */
  readonly by?: 'driver' | 'thread' | 'time'
  /** It ended after the call had returned, or ran in another thread: its time is not part of the call's. */
  readonly asynchronous?: true
}

/** One initcall. Times are us; starts and ends are stamps of the guest's sched_clock. */
export interface Initcall {
  readonly name: string
  /** As printed, with offset and size; the pair of lines is matched by it. */
  readonly symbol: string
  readonly module?: string
  /** From `entering initcall level:` (Linux 6.17); absent on older kernels and for modules. */
  readonly level?: string
  /** The how manyth call of this name: names repeat, and are kept apart by it. */
  readonly occurrence: number
  readonly pid?: number
  /** The line of `calling`, or of the return where that is all there is. */
  readonly line: number
  readonly returnedLine?: number
  /** Its return value. Neither a negative nor a positive one need be a failure. */
  readonly returned?: number
  /** `returned with preemption imbalance` and the like. */
  readonly warning?: string
  readonly startUs?: number
  readonly endUs?: number
  /** Absent where it is not known; see `unknown`. */
  readonly durationUs?: number
  readonly source?: TimeSource
  /** The duration is a whole number of ticks: nothing better is in the log. */
  readonly quantised?: true
  /** Half the width of what the duration may be, where that is more than a microsecond or two. */
  readonly errorUs?: number
  /** What the kernel printed, in its own unit (`clock.unitNs`). */
  readonly usecs?: number
  /** The printed figure less the difference of the stamps, where it is more than 1 ms. */
  readonly disagreementUs?: number
  /** The duration without the probes that lie inside it; absent where it has none. */
  readonly selfUs?: number
  readonly unfinished?: true
  /** Another call began before it returned: the kernel's one clock for all of them was set anew, so its figure is too small. */
  readonly overlapped?: true
  readonly unknown?: NoDuration
  readonly probes?: readonly Probe[]
}

/** A time in which no initcall ran. */
export interface InitcallGap {
  readonly startUs: number
  readonly endUs: number
  readonly durationUs: number
  /** Places in `calls`; absent at the ends. */
  readonly after?: number
  readonly before?: number
  /** Messages in it, and the first one. */
  readonly messages: number
  readonly first?: string
  /** Behind `Run … as init process`: user space ran. */
  readonly userspace?: true
}

/** A quirk of a device (drivers/pci/quirks.c). Its figure is ns >> 10 on every kernel. */
export interface Fixup {
  readonly device: string
  readonly name: string
  readonly line: number
  readonly startUs?: number
  readonly durationUs?: number
  readonly source?: TimeSource
  readonly quantised?: true
}

/** What the durations of a log mean. */
export interface InitcallClock {
  /** What one printed `usec` is: 1000 ns, or 1024 on old kernels (ns >> 10). Absent where nothing tells. */
  readonly unitNs?: 1000 | 1024
  readonly unitBy?: 'ticks' | 'version' | 'stamps'
  /** The tick that durations are multiples of before the switch. */
  readonly tickUs?: number
  /** `clocksource: Switched to clocksource NAME`. */
  readonly switchLine?: number
  readonly clocksource?: string
  /** What tells from where on figures are exact. */
  readonly exactBy?: 'switch' | 'clocksource_done_booting' | 'values'
  /** The first return with an exact figure, counted from 1 over returns, and its line. */
  readonly exactFromPair?: number
  readonly exactFromLine?: number
}

/** A level and its first line. */
export interface InitcallLevel {
  readonly level: string
  readonly line: number
  readonly atUs?: number
  readonly calls: number
}

/** The kernel gave up. */
export interface KernelPanic {
  readonly line: number
  readonly atUs?: number
  readonly text: string
  /** The last call that was open then, a place in `calls`: it did not return. */
  readonly call?: number
}

/** Something a reader should know before they trust a figure. */
export interface InitcallsFinding {
  readonly name:
    | 'unfinished-at-panic'
    | 'unfinished-at-end'
    | 'old-unit'
    | 'unit-unknown'
    | 'no-switch-line'
    | 'no-stamps'
    | 'begins-late'
    | 'console-in-intervals'
    | 'disagreements'
    | 'overlapping-calls'
  readonly message: string
}

export interface InitcallsDiagnostics {
  readonly lines: number
  /** Lines with the words of an initcall that could not be read. */
  readonly unparsed: number
  readonly problems: readonly InitcallsDiagnostic[]
}

export interface InitcallsSummary {
  readonly count: number
  /** Calls with their return. */
  readonly paired: number
  readonly nonZero: number
  readonly unfinished: number
  /** Calls of modules. */
  readonly modules: number
  readonly probes: number
  readonly fixups: number
  /** Printed figures that differ from the stamps by more than 1 ms. */
  readonly disagreements: number
  /** In at least one call, by stamps; absent without them. Durations overlap, so their sum means nothing. */
  readonly inCallsUs?: number
}

/** The kernel's boot, call by call. */
export interface InitcallsReport {
  readonly found: true
  /** `uname -r`, where the log has its first line. */
  readonly kernel?: string
  /** Which boot of how many in the log; absent where there is one. */
  readonly boot?: { readonly number: number; readonly of: number }
  /** In the order of their lines. */
  readonly calls: readonly Initcall[]
  readonly levels: readonly InitcallLevel[]
  /** Times without a call, at least 1 ms each. */
  readonly gaps: readonly InitcallGap[]
  readonly fixups: readonly Fixup[]
  /** Probes that no call is known for. */
  readonly otherProbes: readonly Probe[]
  readonly clock: InitcallClock
  readonly panic?: KernelPanic
  readonly summary: InitcallsSummary
  readonly findings: readonly InitcallsFinding[]
  readonly diagnostics: InitcallsDiagnostics
}

/** There is no answer, and why. */
export interface NoInitcalls {
  readonly found: false
  /** A sentence with the remedy. */
  readonly message: string
  readonly diagnostics: InitcallsDiagnostics
}

export type InitcallsResult = InitcallsReport | NoInitcalls
