import type { LoggedBoot } from './collect-calls.ts'
import type { InitcallClock } from './initcalls-report.ts'
import { DISAGREEMENT_US } from './time-calls.ts'

/** How the printed figures of a boot are read. */
export interface JudgedClock extends InitcallClock {
  /** Returns on this line and later are exact; absent where none is. */
  readonly exactLine?: number
}

/** Ticks of CONFIG_HZ as in kernel/Kconfig.hz, the longest first: a multiple of a long one is one of a short one too. */
const TICKS_NS = [10_000_000, 4_000_000, 3_333_333, 1_000_000] as const
const UNITS_NS = [1000, 1024] as const
/** Without a switch in the log one figure may be a multiple by chance: it tells a tick only where its stamps deny it. */
const FEWEST_TICKS = 2
/** Printing the line itself must not matter beside the 2.4 % that are told apart. */
const LONG_USECS = 20_000
const FEWEST_LONG = 3

interface Figure {
  readonly usecs: number
  readonly line: number
  /** Its stamps are more than 1 ms off. */
  readonly denied: boolean
}

interface Ticks {
  readonly tickNs: number
  readonly unitNs: 1000 | 1024
  /** So many figures in a row, from the first one on, are whole ticks. */
  readonly count: number
}

/**
 * Before the clocksource is switched the kernel's clock is jiffies, so that printed durations are whole ticks; which unit
 * they have shows in the ticks themselves: 4 ms are 4000 us or 3906 times 1024 ns. The kernel printed ns >> 10 until
 * ktime_us_delta() came (init/main.c, a patch of February 2022, when 5.17 was nearly done).
 */
export function judgeClock(boot: LoggedBoot): JudgedClock {
  const figures = boot.returns.flatMap((place): Figure[] => {
    const { usecs, returnedLine: line, startUs, endUs } = boot.calls[place] ?? {}
    if (usecs === undefined || line === undefined) return []
    const denied = startUs !== undefined && endUs !== undefined && Math.abs(usecs - (endUs - startUs)) > DISAGREEMENT_US
    return [{ usecs, line, denied }]
  })
  const border = borderOf(boot, figures)
  const ticks = ticksOf(figures, border.exactLine)
  const exactLine = border.exactLine ?? inferredLine(figures, ticks)
  const first = figures.findIndex(({ line }) => exactLine !== undefined && line >= exactLine)
  const exactFigure = figures[first]
  const exactBy = border.exactBy ?? (exactFigure === undefined ? undefined : ('values' as const))
  return {
    ...unitOf(boot, ticks, exactLine),
    ...(ticks !== undefined && { tickUs: Math.round(ticks.tickNs / 1000) }),
    ...(boot.switched && { switchLine: boot.switched.line, clocksource: boot.switched.clocksource }),
    ...(exactBy !== undefined && { exactBy }),
    ...(exactLine !== undefined && { exactLine }),
    ...(exactFigure !== undefined && { exactFromPair: first + 1, exactFromLine: exactFigure.line }),
  }
}

function borderOf(
  { switched, calls }: LoggedBoot,
  figures: readonly Figure[],
): Pick<JudgedClock, 'exactLine' | 'exactBy'> {
  if (switched) return { exactLine: switched.line, exactBy: 'switch' }
  // It is what makes the switch, so its own return is the first line after it.
  const done = calls.find(({ name, returnedLine }) => returnedLine !== undefined && name === 'clocksource_done_booting')
  const line = done?.returnedLine
  return line === undefined || figures.length === 0 ? {} : { exactLine: line, exactBy: 'clocksource_done_booting' }
}

/** The longest tick of which the most figures in a row are multiples. */
function ticksOf(figures: readonly Figure[], exactLine: number | undefined): Ticks | undefined {
  const values = figures.filter(({ usecs, line }) => usecs > 0 && (exactLine === undefined || line < exactLine))
  let best: Ticks | undefined
  for (const tickNs of TICKS_NS) {
    for (const unitNs of UNITS_NS) {
      const odd = values.findIndex(({ usecs }) => !isWhole(usecs, tickNs, unitNs))
      const count = odd === -1 ? values.length : odd
      if (count > (best?.count ?? 0)) best = { tickNs, unitNs, count }
    }
  }
  const fewest = exactLine === undefined && values[0]?.denied !== true ? FEWEST_TICKS : 1
  return best !== undefined && best.count >= fewest ? best : undefined
}

function isWhole(usecs: number, tickNs: number, unitNs: number): boolean {
  const ticks = Math.round((usecs * unitNs) / tickNs)
  // Jiffies are not exactly a tick long (TICK_NSEC), and both divisions cut off.
  return ticks >= 1 && Math.abs(Math.floor((ticks * tickNs) / unitNs) - usecs) <= 1
}

/** Without a switch in the log: from the first figure on that is no whole tick. */
function inferredLine(figures: readonly Figure[], ticks: Ticks | undefined): number | undefined {
  // What is a whole tick of any kernel proves nothing, so it is not taken for exact.
  const isTick = (usecs: number): boolean =>
    ticks === undefined
      ? TICKS_NS.some((tickNs) => UNITS_NS.some((unitNs) => isWhole(usecs, tickNs, unitNs)))
      : isWhole(usecs, ticks.tickNs, ticks.unitNs)
  return figures.find(({ usecs }) => usecs > 0 && !isTick(usecs))?.line
}

function unitOf(boot: LoggedBoot, ticks: Ticks | undefined, exactLine: number | undefined): InitcallClock {
  if (ticks !== undefined) return { unitNs: ticks.unitNs, unitBy: 'ticks' }
  const [, major, minor] = /^(\d{1,3})\.(\d{1,3})/.exec(boot.kernel ?? '') ?? []
  if (major !== undefined) {
    const version = Number(major) * 1000 + Number(minor)
    if (version < 5018) return { unitNs: 1024, unitBy: 'version' }
    if (version >= 6000) return { unitNs: 1000, unitBy: 'version' }
  }
  const ratios = boot.calls
    .flatMap(({ usecs = 0, startUs, endUs, returnedLine = 0 }) =>
      exactLine === undefined ||
      returnedLine < exactLine ||
      usecs < LONG_USECS ||
      startUs === undefined ||
      endUs === undefined
        ? []
        : [(endUs - startUs) / usecs],
    )
    .toSorted((a, b) => a - b)
  const middle = ratios.length < FEWEST_LONG ? undefined : ratios[ratios.length >> 1]
  if (middle === undefined) return {}
  if (middle > 1.018 && middle < 1.032) return { unitNs: 1024, unitBy: 'stamps' }
  return middle > 0.995 && middle < 1.01 ? { unitNs: 1000, unitBy: 'stamps' } : {}
}
