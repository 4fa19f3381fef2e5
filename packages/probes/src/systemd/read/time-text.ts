/** What a stamp can be: us on the clock of its input, never set, or a text that is neither. */
export type Stamp = number | 'unset' | 'unreadable'

/** Reads the text of a stamp. */
export type StampReader = (text: string) => Stamp

const INFINITY_TEXT = '18446744073709551615'

/** A `...TimestampMonotonic` of `systemctl show`: us since kernel start; 0 and 2^64-1 are what was never set. */
export function readMonotonic(text: string): Stamp {
  if (text === '0' || text === INFINITY_TEXT) return 'unset'
  const us = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(us) ? us : 'unreadable'
}

/** A stamp of the realtime clock with its zone, in us; systemd prints whole seconds. */
export interface DatedStamp {
  readonly us: number
  readonly zone: string
}

const DATED = /^[A-Z][a-z]{2} (\d{4})-(\d{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2}) ([A-Za-z0-9+:-]{1,12})$/

/**
 * `Mon 2026-11-30 21:22:20 UTC` of `systemd-analyze dump` (FORMAT_TIMESTAMP in src/basic/time-util.c), or `n/a`. The
 * zone is PID 1's: the figure is only good for differences between stamps of one zone.
 */
export function readDated(text: string): DatedStamp | 'unset' | 'unreadable' {
  if (text === 'n/a') return 'unset'
  const [, year, month, day, hour, minute, second, zone] = DATED.exec(text) ?? []
  if (zone === undefined) return 'unreadable'
  const ms = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second))
  return { us: ms * 1000, zone }
}

const UNITS_US: { readonly [unit: string]: number } = {
  us: 1,
  ms: 1e3,
  s: 1e6,
  min: 60e6,
  h: 3600e6,
  d: 86_400e6,
  w: 604_800e6,
  month: 2_629_800e6,
  y: 31_557_600e6,
}

/** A time span such as `1min 30s` or `4s` (format_timespan in src/basic/time-util.c), in us; `undefined` for `infinity` and for foreign text. */
export function readSpanUs(text: string): number | undefined {
  if (text === '0') return 0
  let totalUs = 0
  for (const part of text.split(' ')) {
    const [, amount, unit = ''] = /^(\d{1,12}(?:\.\d{1,6})?)([a-z]{1,5})$/.exec(part) ?? []
    const unitUs = UNITS_US[unit]
    if (amount === undefined || unitUs === undefined) return undefined
    totalUs += Math.round(Number(amount) * unitUs)
  }
  return totalUs
}
