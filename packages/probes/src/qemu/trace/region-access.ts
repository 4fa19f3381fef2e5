import {
  standsAddr,
  standsCpu,
  standsMr,
  standsName,
  standsOffset,
  standsOps,
  standsRamDevice,
  standsRead,
  standsRegion,
  standsSize,
  standsSubpage,
  standsValue,
  standsWrite,
} from './region-words.ts'

/**
 * One line of `memory_region_{ops,subpage,ram_device}_{read,write}` (softmmu/trace-events, system/trace-events), reused from
 * line to line:
 * `cpu %d mr %p addr 0x%x value 0x%x size %u name '%s'`. `subpage` has `offset` for `addr`; it and `ram_device` have no name,
 * and neither has `ops` before QEMU 6.2.
 */
export interface RegionAccess {
  /** Index into `ACCESS_EVENTS`; odd for writes. */
  event: number
  /** The vCPU; -1 for a thread that is none, such as a timer's. */
  cpu: number
  /** The `MemoryRegion`'s pointer: its first eight digits, the others, and how many there are in all. */
  mrFirst: number
  mrRest: number
  mrDigits: number
  /** Absolute, or relative to the region where it was reached through an alias; two halves of 32 bits. */
  addressHigh: number
  addressLow: number
  /** The low 32 bits of the value, as a signed number. */
  value: number
  /** In bytes. */
  size: number
  /** The name stands in `bytes` between these; both are 0 without a name. */
  nameFrom: number
  nameTo: number
  /** A hash of the name's bytes; 0 without a name. */
  nameHash: number
}

/** Makes a {@link RegionAccess} to read into. */
export function newRegionAccess(): RegionAccess {
  return {
    event: 0,
    cpu: 0,
    mrFirst: 0,
    mrRest: 0,
    mrDigits: 0,
    addressHigh: 0,
    addressLow: 0,
    value: 0,
    size: 0,
    nameFrom: 0,
    nameTo: 0,
    nameHash: 0,
  }
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const BLANK = 0x20
const QUOTE = 0x27
const MINUS = 0x2d
const ZERO = 0x30

// The value of a hexadecimal digit by its byte; 16 for every other byte.
const HEX = new Uint8Array(256).fill(16)
for (let digit = 0; digit < 16; digit++) HEX[digit.toString(16).charCodeAt(0)] = digit

/**
 * Reads the line whose event begins at `at`. Gives where its line feed stands; -1 for a line of another event or form, after
 * which `into` has no meaning. Needs no search for the end of the line: every loop stops at a line feed.
 */
export function readRegionAccess(bytes: Uint8Array, at: number, into: RegionAccess): number {
  if (!standsRegion(bytes, at)) return -1
  let i = at + 14
  let event: number
  let byOffset = false
  if (standsOps(bytes, i)) {
    i += 4
    event = 0
  } else if (standsSubpage(bytes, i)) {
    i += 8
    event = 2
    byOffset = true
  } else if (standsRamDevice(bytes, i)) {
    i += 11
    event = 4
  } else return -1
  if (standsRead(bytes, i)) i += 4
  else if (standsWrite(bytes, i)) {
    i += 5
    event += 1
  } else return -1
  into.event = event

  if (!standsCpu(bytes, i)) return -1
  i += 5
  const negative = bytes[i] === MINUS
  if (negative) i += 1
  let number = 0
  let from = i
  for (let byte = bytes[i]!; byte >= ZERO && byte <= 0x39; byte = bytes[++i]!) number = number * 10 + (byte - ZERO)
  if (i === from || i - from > 9) return -1
  into.cpu = negative ? -number : number

  if (!standsMr(bytes, i)) return -1
  i += 6
  // The first eight digits, then the others: a loop that carries from one half to the other takes half as long again.
  let high = 0
  let low = 0
  from = i
  let digit = HEX[bytes[i]!]!
  for (; digit < 16 && i - from < 8; digit = HEX[bytes[++i]!]!) high = (high << 4) | digit
  for (; digit < 16; digit = HEX[bytes[++i]!]!) low = (low << 4) | digit
  if (i === from || i - from > 16) return -1
  into.mrFirst = high
  into.mrRest = low
  into.mrDigits = i - from

  if (!(byOffset ? standsOffset(bytes, i) : standsAddr(bytes, i))) return -1
  i += byOffset ? 10 : 8
  high = 0
  low = 0
  from = i
  for (digit = HEX[bytes[i]!]!; digit < 16; digit = HEX[bytes[++i]!]!) {
    high = (high << 4) | (low >>> 28)
    low = (low << 4) | digit
  }
  if (i === from || i - from > 16) return -1
  into.addressHigh = high
  into.addressLow = low

  if (!standsValue(bytes, i)) return -1
  i += 9
  low = 0
  from = i
  for (digit = HEX[bytes[i]!]!; digit < 16; digit = HEX[bytes[++i]!]!) low = (low << 4) | digit
  if (i === from || i - from > 16) return -1
  into.value = low

  if (!standsSize(bytes, i)) return -1
  i += 6
  number = 0
  from = i
  for (let byte = bytes[i]!; byte >= ZERO && byte <= 0x39; byte = bytes[++i]!) number = number * 10 + (byte - ZERO)
  if (i === from || i - from > 9) return -1
  into.size = number
  return event < 2 && bytes[i] === BLANK ? readName(bytes, i, into) : lineEnd(bytes, i, into)
}

/** The name reaches to the last quote of the line: names with blanks exist, and nothing forbids a quote in one. */
function readName(bytes: Uint8Array, at: number, into: RegionAccess): number {
  if (!standsName(bytes, at)) return -1
  const from = at + 7
  let hash = 1
  let i = from
  for (let byte = bytes[i]!; byte !== LINE_FEED; byte = bytes[++i]!) hash = ((hash << 5) - hash + byte) | 0
  const end = bytes[i - 1] === CARRIAGE_RETURN ? i - 1 : i
  if (end === from || bytes[end - 1] !== QUOTE) return -1
  into.nameFrom = from
  into.nameTo = end - 1
  into.nameHash = hash | 1
  return i
}

function lineEnd(bytes: Uint8Array, at: number, into: RegionAccess): number {
  into.nameFrom = 0
  into.nameTo = 0
  into.nameHash = 0
  const end = bytes[at] === CARRIAGE_RETURN ? at + 1 : at
  return bytes[end] === LINE_FEED ? end : -1
}
