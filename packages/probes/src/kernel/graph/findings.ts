import type { TracefsFacts } from './facts.ts'
import type { PairingCounts, Pairing } from './pair.ts'
import type { GraphSpan, GraphSummary } from './graph-report.ts'
import { trueTask, type UnopenedFrame } from './frames.ts'

/** Something that one must know to read the numbers. */
export interface GraphFinding {
  readonly name: GraphFindingName
  /** One sentence for a person. */
  readonly message: string
}

export type GraphFindingName =
  | 'events-lost'
  | 'loss-not-told'
  | 'pairs-over-loss'
  | 'starts-mid-stack'
  | 'still-open'
  | 'threshold'
  | 'no-durations'
  | 'cpu-not-told'
  | 'task-not-told'
  | 'frames-not-told'
  | 'ambiguous-close'
  | 'switch-disagrees'
  | 'stack-overrun'
  | 'measures-itself'

/** What a reader of the report must know. */
export function graphFindings(
  pairings: readonly Pairing[],
  spans: readonly GraphSpan[],
  summary: GraphSummary,
  facts: TracefsFacts,
): readonly GraphFinding[] {
  const sum = (of: (counts: PairingCounts) => number): number =>
    pairings.reduce((all, { counts }) => all + of(counts), 0)
  const overLoss = pairings.reduce((all, { frames }) => all + frames.filter(({ overLoss: is }) => is).length, 0)
  const nameless = pairings.reduce(
    (all, { frames }) => all + namelessTasks(frames.map(({ task }) => trueTask(task))),
    0,
  )
  const columns = new Set(pairings.flatMap(({ trace }) => trace.columns))
  const threshold = pairings.some(({ threshold: is }) => is)
  const marks = sum(({ lossMarks }) => lossMarks)
  const most = Math.max(0, ...pairings.map(({ counts }) => counts.overrunsMost))
  const found: (GraphFinding | false)[] = [
    (summary.lost > 0 || marks > 0) && {
      name: 'events-lost',
      message: `${summary.lost === 0 ? 'events' : `${summary.lost} events`} were lost${marks > 0 ? ` at ${plural(marks, 'place')} of the text` : ''}: functions are missing, and what called them seems to take their time`,
    },
    !summary.lossTold && {
      name: 'loss-not-told',
      message: 'whether events were lost the trace does not say: per_cpu/cpu*/stats does (overrun), beside it',
    },
    overLoss > 0 && {
      name: 'pairs-over-loss',
      message: `${plural(overLoss, 'span')} began before events of its CPU were lost: the call may be another one than the one that returned, the duration is of the latter`,
    },
    summary.unopened > 0 &&
      !threshold && {
        name: 'starts-mid-stack',
        message: `${plural(summary.unopened, 'return')} of functions whose call is not in the trace: it begins in the middle; they are in \`unopened\`, with the duration of the whole function`,
      },
    summary.unclosed > 0 && {
      name: 'still-open',
      message: `${plural(summary.unclosed, 'function')} did not return in the trace; they have no duration, and are no spans`,
    },
    threshold && {
      name: 'threshold',
      message:
        'tracing_thresh was set: shorter functions are not there, so that nobody knows what the time of a span was in',
    },
    summary.frames > 0 &&
      !spans.some(({ durationUs }) => durationUs !== undefined) && {
        name: 'no-durations',
        message: 'the trace has no durations (nofuncgraph-duration): there are calls and no times',
      },
    !columns.has('cpu') && {
      name: 'cpu-not-told',
      message:
        'the trace has no CPUs (nofuncgraph-cpu): migrations cannot be seen, and the idle tasks cannot be told apart',
    },
    nameless > 0 && {
      name: 'task-not-told',
      message: `${plural(nameless, 'task')} without a name: on its CPUs nothing else was traced, and the trace has no column for tasks`,
    },
    sum(({ notTold }) => notTold) > 0 && {
      name: 'frames-not-told',
      message:
        'calls and returns cannot be paired: the trace has neither CPU nor task, and tasks of several CPUs; leaves are there',
    },
    sum(({ ambiguous }) => ambiguous) > 0 && {
      name: 'ambiguous-close',
      message: `${plural(
        sum(({ ambiguous }) => ambiguous),
        'return',
      )} could be of several tasks without a name, and was given to none; trace with funcgraph-proc`,
    },
    sum(({ switchesAgainst }) => switchesAgainst) > 0 && {
      name: 'switch-disagrees',
      message: `${plural(
        sum(({ switchesAgainst }) => switchesAgainst),
        'switch line',
      )} name another task than the one that ran before: lines are missing`,
    },
    most > 0 && {
      name: 'stack-overrun',
      message: `calls were deeper than the tracer’s stack, up to ${most} times in one task: functions are missing`,
    },
    ...measuresItself([...spans, ...pairings.flatMap(({ unopened }) => unopened.map(timeOf))], facts.initcalls),
  ]
  return found.filter((finding) => finding !== false)
}

function namelessTasks(tasks: readonly { readonly label?: string }[]): number {
  return new Set(tasks.filter(({ label }) => label === undefined)).size
}

const SLOWER = 1.2
const SLOWER_US = 1000

/** Also of a function whose call is not in the trace the whole duration is. */
function timeOf({ name = '', us }: UnopenedFrame): Timed {
  return { name, ...(us === undefined ? {} : { durationUs: us }) }
}

type Timed = Pick<GraphSpan, 'name' | 'durationUs'>

/** A function that took longer here than in a boot without the tracer. */
function measuresItself(spans: readonly Timed[], initcalls: TracefsFacts['initcalls']): GraphFinding[] {
  if (initcalls === undefined) return []
  const slower = spans.flatMap(({ name, durationUs }) => {
    const us = initcalls.get(name)
    const is = us !== undefined && durationUs !== undefined && durationUs > Math.max(us * SLOWER, us + SLOWER_US)
    return is ? [`${name} ${durationUs} us here and ${us} us there`] : []
  })
  if (slower.length === 0) return []
  const more = slower.length > 5 ? `, and ${slower.length - 5} more` : ''
  return [
    {
      name: 'measures-itself',
      message: `the trace measures itself: against the initcall_debug log beside it (whose us are whole jiffies early in a boot), ${slower.slice(0, 5).join('; ')}${more}; trace fewer functions (ftrace_graph_filter=, ftrace_graph_max_depth=)`,
    },
  ]
}

function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
