import { exactMs } from '../../text/milliseconds.ts'
import { asDisplayText } from '../terminal.ts'
import { sectionLines, wrap } from '../../text/page.ts'
import { table } from '../../text/table.ts'
import type { ComparedSide, InitcallsComparison } from './compare.ts'
import type { CallOverBoots, InitcallsOverBoots } from './over-boots.ts'
import type { InitcallsRenderOptions } from './render.ts'
import { callName, counted } from './words.ts'

/** Several boots of one kernel as a table: the calls that took longest. */
export function renderInitcallsOverBoots(over: InitcallsOverBoots, options: InitcallsRenderOptions = {}): string {
  const { kernels, boots, calls } = over
  const { width = 100, longest = 20 } = options
  const few = boots < 5 ? ' (p50 is withheld below 5 boots)' : ''
  const head = `${kernelText(kernels)} · ${counted(calls.length, 'initcall')} · n=${boots}${few}`
  const rows = calls
    .filter(({ medianUs }) => medianUs !== undefined)
    .slice(0, longest)
    .map((call) => [ms(call.p50Us), ms(call.minUs), ms(call.maxUs), String(call.n), callName(call)])
  const lines = [
    ...wrap(asDisplayText(head), width),
    '',
    ...table([['p50 ms', 'min', 'max', 'n', 'call'], ...rows], [4]),
  ]
  return `${lines.join('\n')}\n`
}

/** Two kernels side by side: which calls came, went, and moved. */
export function renderInitcallsComparison(
  comparison: InitcallsComparison,
  options: InitcallsRenderOptions = {},
): string {
  const { a, b, appeared, vanished, moved, rehoused, relevelled, unmoved, notCompared } = comparison
  const { width = 100, longest = 15 } = options
  const prose = [
    `A: ${sideText(a)}`,
    `B: ${sideText(b)}`,
    chanceText(a, b),
    `${appeared.length} appeared · ${vanished.length} vanished · ${moved.length} moved · ${unmoved} did not move by more than 1 ms and 10 % · ${notCompared} not compared, since a duration of them is not known well enough`,
  ]
  const sections = [
    movedLines(comparison, longest),
    onlyLines('in B alone', appeared, longest),
    onlyLines('in A alone', vanished, longest),
    placeLines('of another module, or built in', rehoused, longest),
    placeLines('in another level', relevelled, longest),
  ]
  const lines = [...prose.flatMap((line) => wrap(asDisplayText(line), width)), ...sectionLines(sections)]
  return `${lines.join('\n')}\n`
}

function chanceText(a: ComparedSide, b: ComparedSide): string {
  if (a.boots === 1 && b.boots === 1) {
    return 'one boot each: what moved may be chance; which calls there are is not'
  }
  return 'medians over the boots; whether a difference is more than chance is for a lane to say'
}

function movedLines({ moved }: InitcallsComparison, longest: number): string[] {
  if (moved.length === 0) return []
  const rows = moved
    .slice(0, longest)
    .map((call) => [
      `${call.deltaUs > 0 ? '+' : ''}${exactMs(call.deltaUs)}`,
      exactMs(call.aUs),
      exactMs(call.bUs),
      callName(call),
    ])
  return [`moved${less(moved, longest)}:`, ...table([['ms', 'A', 'B', 'call'], ...rows], [3])]
}

function onlyLines(title: string, calls: readonly CallOverBoots[], longest: number): string[] {
  if (calls.length === 0) return []
  const rows = calls.slice(0, longest).map((call) => [ms(call.medianUs), callName(call)])
  return [`${title}${less(calls, longest)}:`, ...table([['ms', 'call'], ...rows], [1])]
}

function placeLines(title: string, calls: InitcallsComparison['rehoused'], longest: number): string[] {
  if (calls.length === 0) return []
  const rows = calls.slice(0, longest).map(({ a = 'built in', b = 'built in', name }) => [a, b, name])
  return [`${title}${less(calls, longest)}:`, ...table([['A', 'B', 'call'], ...rows], [0, 1, 2])]
}

function less(all: readonly unknown[], longest: number): string {
  return all.length > longest ? `, the largest ${longest} of ${all.length}` : ''
}

function sideText({ kernels, boots, calls }: ComparedSide): string {
  return `${kernelText(kernels)}, ${counted(calls, 'initcall')}, n=${boots}`
}

function kernelText(kernels: readonly string[]): string {
  return kernels.length === 0 ? 'a kernel without its first line' : `Linux ${kernels.join(' and ')}`
}

function ms(us: number | undefined): string {
  return us === undefined ? '-' : exactMs(us)
}
