import type { CpuShare } from './cpu-share.ts'
import type { GraphColumn } from './columns.ts'
import type { GraphDiagnostic } from './graph-diagnostics.ts'
import type { GraphFinding } from './findings.ts'
import type { GraphFunction, GraphNode } from './tree.ts'
import type { EmptyReason } from './why-empty.ts'

/**
 * A function from its call to its return. Times are us; durations are what the kernel printed where it returned, with the
 * time that it slept or was interrupted in it.
 */
export interface GraphSpan {
  /** The function; of a module `vp_notify [virtio_pci]`. */
  readonly name: string
  /** `busybox-131`: the command, cut to 7 characters, and the pid. Absent where the trace does not say who ran. */
  readonly task?: string
  /** The CPU that it was called on; absent where the trace has no CPUs, and of a frame of tracing_thresh. */
  readonly cpuOpen?: number
  /** The CPU that it returned on. */
  readonly cpuClose?: number
  /** Functions around it, those that the filter leaves out not counted. */
  readonly depth: number
  /** Absent of a trace without durations. */
  readonly durationUs?: number
  /** Without the spans in it; absent where one of them has no duration. */
  readonly selfUs?: number
  /** It returned on another CPU; absent where one of them is not known. */
  readonly migrated?: boolean
  /** Nothing that is traced was called in it. */
  readonly leaf?: true
  /** When it was called, on the trace's clock; only with funcgraph-abstime. */
  readonly openedUs?: number
  readonly returned?: string
  readonly caller?: string
  readonly args?: string
  /** Which trace of the input it is of, from 1; absent where there is one. */
  readonly trace?: number
}

/** A return whose call the trace does not have. Its duration is that of the whole function. */
export interface UnopenedSpan {
  /** Absent where the text does not tell. */
  readonly name?: string
  readonly task?: string
  readonly cpuClose?: number
  readonly depth: number
  readonly durationUs?: number
  readonly line: number
}

/** How much there was. */
export interface GraphSummary {
  /** Traces in the input. */
  readonly traces: number
  /** Spans: leaves, pairs, and with tracing_thresh each return. */
  readonly frames: number
  readonly leaves: number
  /** Opens that have their close. */
  readonly pairs: number
  readonly opens: number
  readonly closes: number
  readonly namedCloses: number
  /** Spans that returned on another CPU. */
  readonly migrated: number
  /** Closes without an open in the trace; with tracing_thresh all of them, and each is a whole frame there. */
  readonly unopened: number
  /** Opens without a close in the trace. */
  readonly unclosed: number
  /** Events that the input says were lost. Where `lossTold` is false that is no answer: the trace would not say it. */
  readonly lost: number
  /** The input says how many events were lost: LOST lines, per_cpu stats, or the latency format's header. */
  readonly lossTold: boolean
  /** Pairs whose open or close is of a task that no line names. */
  readonly overUnnamedTask: number
  readonly switches: number
  /** Events printed between the functions. */
  readonly events: number
}

/** What the reader had to go on. */
export interface GraphDiagnostics {
  readonly lines: number
  /** Lines that are of none of the formats, or torn. */
  readonly unparsed: number
  readonly problems: readonly GraphDiagnostic[]
}

/** The functions of a trace. */
export interface GraphReport {
  readonly found: true
  /** What printed the lines. */
  readonly source: 'tracefs' | 'trace-cmd' | 'mixed'
  /** The columns of the first trace. */
  readonly columns: readonly GraphColumn[]
  /** tracing_thresh was set: short functions are not there, and each frame is a return alone. */
  readonly threshold: boolean
  /** In the order of their calls. */
  readonly spans: readonly GraphSpan[]
  readonly unopened: readonly UnopenedSpan[]
  /** Functions without a return, in the order of their calls, at most 100. */
  readonly unclosed: readonly { readonly name: string; readonly task?: string; readonly depth: number }[]
  readonly summary: GraphSummary
  /** By time, longest first. */
  readonly functions: readonly GraphFunction[]
  readonly tree: readonly GraphNode[]
  /** The span at the greatest depth, the first of them. */
  readonly deepest?: { readonly depth: number; readonly name: string }
  /** Absent without sched_switch events and times. */
  readonly cpuShare?: CpuShare
  readonly findings: readonly GraphFinding[]
  readonly diagnostics: GraphDiagnostics
}

/** There is no function in the input, and why. */
export interface NoGraph {
  readonly found: false
  readonly reason: EmptyReason
  /** A sentence with the remedy. */
  readonly message: string
  readonly spans: readonly []
  /** What there was all the same, such as events that were lost. */
  readonly summary: GraphSummary
  readonly diagnostics: GraphDiagnostics
}

export type GraphResult = GraphReport | NoGraph
