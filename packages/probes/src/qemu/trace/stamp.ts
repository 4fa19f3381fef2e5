/**
 * What QEMU's log backend puts in front of an event (scripts/tracetool/backend/log.py).
 * `none`: no `-msg timestamp=on`. `tid`: `2617@1796074452.853645:`, up to 10.0; the number is the thread's, of gettid.
 * `iso`: `2026-11-30T21:10:16.170841Z `, from 10.1 on, without a thread.
 */
export type StampKind = 'none' | 'tid' | 'iso'

/** Where an event begins, and what was in front of it. Reused from line to line. */
export interface Stamp {
  kind: StampKind
  /** Where the stamp begins in the bytes that it was read from; no meaning for `none`. */
  from: number
  /** Where the event begins. */
  eventFrom: number
  /** The thread, of `tid`. */
  tid: number
}

/** Makes a {@link Stamp} to read into. */
export function newStamp(): Stamp {
  return { kind: 'none', from: 0, eventFrom: 0, tid: 0 }
}

const AT = 0x40
const COLON = 0x3a
const DOT = 0x2e
const MINUS = 0x2d
const T = 0x54
const Z = 0x5a
const BLANK = 0x20
const ZERO = 0x30
const ISO_CHARS = 28

/** Reads the stamp at `at`; the bytes end with a line feed, at which every loop here stops. */
export function readStamp(bytes: Uint8Array, at: number, into: Stamp): void {
  into.from = at
  into.kind = 'none'
  into.eventFrom = at
  if (!isDigit(bytes[at]!)) return
  if (bytes[at + 4] === MINUS && isIso(bytes, at)) {
    into.kind = 'iso'
    into.eventFrom = at + ISO_CHARS
    return
  }
  let tid = 0
  let i = at
  for (; isDigit(bytes[i]!); i++) tid = tid * 10 + (bytes[i]! - ZERO)
  if (bytes[i] !== AT || i - at > 10) return
  const seconds = ++i
  while (isDigit(bytes[i]!)) i += 1
  if (i === seconds || bytes[i] !== DOT) return
  const micros = ++i
  while (isDigit(bytes[i]!)) i += 1
  if (i - micros !== 6 || bytes[i] !== COLON) return
  into.kind = 'tid'
  into.tid = tid
  into.eventFrom = i + 1
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= 0x39
}

function isIso(bytes: Uint8Array, at: number): boolean {
  return (
    bytes[at + 7] === MINUS &&
    bytes[at + 10] === T &&
    bytes[at + 13] === COLON &&
    bytes[at + 16] === COLON &&
    bytes[at + 19] === DOT &&
    bytes[at + 26] === Z &&
    bytes[at + 27] === BLANK
  )
}

/** The time of a stamp, in microseconds since 1970 by the host's clock; `undefined` where there is none. */
export function stampUs(bytes: Uint8Array, stamp: Stamp): number | undefined {
  if (stamp.kind === 'none') return undefined
  const text = String.fromCharCode(...bytes.subarray(stamp.from, stamp.eventFrom))
  if (stamp.kind === 'iso') {
    const ms = Date.parse(`${text.slice(0, 19)}Z`)
    return Number.isNaN(ms) ? undefined : ms * 1000 + Number(text.slice(20, 26))
  }
  const [seconds = '', micros = ''] = text.slice(text.indexOf('@') + 1, -1).split('.')
  return Number(seconds) * 1e6 + Number(micros)
}
