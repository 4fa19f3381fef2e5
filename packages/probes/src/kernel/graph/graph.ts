import type { NamedInput } from '../../input/byte-input.ts'
import { cpuShare } from './cpu-share.ts'
import { graphFindings } from './findings.ts'
import { type Frame, trueTask, type UnopenedFrame } from './frames.ts'
import type { GraphDiagnostics, GraphResult, GraphSpan, GraphSummary, UnopenedSpan } from './graph-report.ts'
import { pairFrames, type Pairing, type PairingCounts } from './pair.ts'
import { readTraces, type TraceReading } from './read-trace.ts'
import { byFunction, callTree, hasMigrated, type Placed, placeFrames } from './tree.ts'
import { whyEmpty } from './why-empty.ts'

/**
 * The functions of function_graph traces: `trace` or text of `trace_pipe` with any of the tracer's columns (Linux 5.10 to
 * 7.2), or `trace-cmd report`. Beside them may stand files of tracefs as `grep .` prints them, /sys/kernel/security/lockdown
 * and the log of a boot, for why a trace is empty, what was lost, and whether the trace measures itself. Never throws;
 * without a function it says why.
 */
export function graph(inputs: readonly NamedInput[]): GraphResult {
  const reading = readTraces(inputs)
  const diagnostics = diagnosticsOf(reading)
  const pairings = reading.traces.map(pairFrames)
  if (pairings.every(({ counts: { opens, leaves, closes } }) => opens + leaves + closes === 0)) {
    return { found: false, ...whyEmpty(reading), spans: [], summary: summaryOf(pairings, reading, []), diagnostics }
  }
  const many = pairings.length > 1
  const placed = pairings.map(({ frames }) => placeFrames(frames))
  const spans = pairings.flatMap((pairing, index) =>
    spansOf(pairing, placed[index] ?? [], many ? index + 1 : undefined),
  )
  const whole = placed.flat()
  const summary = summaryOf(pairings, reading, spans)
  const threshold = pairings.some((pairing) => pairing.threshold)
  const share = cpuShare(reading.traces)
  const deepest = deepestOf(spans)
  const formats = new Set(reading.traces.map(({ format }) => format))
  return {
    found: true,
    source: formats.size > 1 ? 'mixed' : (reading.traces[0]?.format ?? 'tracefs'),
    columns: reading.traces[0]?.columns ?? [],
    threshold,
    spans,
    unopened: pairings.flatMap((pairing) => (pairing.threshold ? [] : pairing.unopened.map(unopenedSpan))),
    unclosed: whole
      .filter(({ frame }) => frame.closeAt === undefined)
      .slice(0, MOST_UNCLOSED)
      .map(({ frame: { name, depth }, task: { label } }) => ({ name, ...optional('task', label), depth })),
    summary,
    functions: byFunction(whole),
    tree: callTree(whole),
    ...optional('deepest', deepest),
    ...optional('cpuShare', share),
    findings: graphFindings(pairings, spans, summary, reading.facts),
    diagnostics,
  }
}

const MOST_UNCLOSED = 100

function spansOf(pairing: Pairing, placed: readonly Placed[], trace: number | undefined): GraphSpan[] {
  const closed = placed.filter(({ frame }) => frame.closeAt !== undefined)
  const whole = pairing.threshold ? pairing.unopened.map(thresholdSpan) : []
  const spans = [...closed.map(spanOf), ...whole]
  return trace === undefined ? spans : spans.map((span) => ({ ...span, trace }))
}

function spanOf({ frame, task, selfUs }: Placed): GraphSpan {
  const { name, depth, cpuOpen, cpuClose, us, leaf, openedUs, returned, caller, args } = frame
  return {
    name,
    ...optional('task', task.label),
    ...optional('cpuOpen', cpuOpen),
    ...optional('cpuClose', cpuClose),
    depth,
    ...optional('durationUs', us),
    ...optional('selfUs', selfUs),
    ...optional('migrated', migratedOf(frame)),
    ...(leaf ? { leaf } : {}),
    ...optional('openedUs', openedUs),
    ...optional('returned', returned),
    ...optional('caller', caller),
    ...optional('args', args),
  }
}

/** Absent is not false: without the CPUs nobody knows. */
function migratedOf(frame: Frame): boolean | undefined {
  if (frame.leaf) return false
  return frame.cpuOpen === undefined || frame.cpuClose === undefined ? undefined : hasMigrated(frame)
}

function thresholdSpan({ name = '', depth, cpu, us, task }: UnopenedFrame): GraphSpan {
  return {
    name,
    ...optional('task', trueTask(task).label),
    ...optional('cpuClose', cpu),
    depth,
    ...optional('durationUs', us),
  }
}

function unopenedSpan({ name, depth, cpu, us, task, line }: UnopenedFrame): UnopenedSpan {
  return {
    ...optional('name', name),
    ...optional('task', trueTask(task).label),
    ...optional('cpuClose', cpu),
    depth,
    ...optional('durationUs', us),
    line,
  }
}

function summaryOf(
  pairings: readonly Pairing[],
  { traces, facts }: TraceReading,
  spans: readonly GraphSpan[],
): GraphSummary {
  const sum = (of: (counts: PairingCounts) => number): number =>
    pairings.reduce((all, { counts }) => all + of(counts), 0)
  const pairs = pairings.reduce(
    (all, { frames }) => all + frames.filter(({ leaf, closeAt }) => !leaf && closeAt !== undefined).length,
    0,
  )
  const overwritten = traces.flatMap((trace) => (trace.overwritten === undefined ? [] : [trace.overwritten]))
  // One loss may be told twice, by the text and by the stats.
  const lost = Math.max(
    sum((counts) => counts.lost),
    facts.overrun ?? 0,
    overwritten.reduce((all, count) => all + count, 0),
  )
  return {
    traces: pairings.length,
    frames: spans.length,
    leaves: sum(({ leaves }) => leaves),
    pairs,
    opens: sum(({ opens }) => opens),
    closes: sum(({ closes }) => closes),
    namedCloses: sum(({ namedCloses }) => namedCloses),
    migrated: spans.filter(({ migrated }) => migrated).length,
    unopened: pairings.reduce((all, { unopened }) => all + unopened.length, 0),
    unclosed: sum(({ opens }) => opens) - pairs,
    lost,
    lossTold:
      sum(({ lossMarks }) => lossMarks) > 0 ||
      facts.overrun !== undefined ||
      (traces.length > 0 && overwritten.length === traces.length),
    overUnnamedTask: sum(({ overUnnamedTask }) => overUnnamedTask),
    switches: sum(({ switches }) => switches),
    events: sum(({ comments }) => comments),
  }
}

function deepestOf(spans: readonly GraphSpan[]): { readonly depth: number; readonly name: string } | undefined {
  let deepest: GraphSpan | undefined
  for (const span of spans) if (deepest === undefined || span.depth > deepest.depth) deepest = span
  return deepest && { depth: deepest.depth, name: deepest.name }
}

function diagnosticsOf({ lines, problems }: TraceReading): GraphDiagnostics {
  const list = problems.flatMap((counted) => counted.list())
  const unusable = list.filter(({ name }) => name === 'unparsed' || name === 'torn-tail')
  return { lines, unparsed: unusable.reduce((sum, { count }) => sum + count, 0), problems: list }
}

/** A field, or nothing where there is no value: absent is not zero. */
function optional<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [name in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [name in Name]: Value })
}
