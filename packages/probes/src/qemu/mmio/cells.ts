import type { RegionAccess } from '../trace/region-access.ts'

/** What is counted together: the accesses of one kind to one address of one region. */
export interface Cell {
  /** The region's pointer, such as `0x5585b6747400`; two regions may have one name. */
  readonly mr: string
  /** Absent where QEMU printed none. */
  readonly name?: string
  readonly address: number
  /** It holds further addresses of its region, of which `address` is the first. */
  readonly others: boolean
  /** Index into `ACCESS_EVENTS`; odd for writes. */
  readonly event: number
  readonly size: number
  /** False where no vCPU made the access, such as a timer's. */
  readonly byVcpu: boolean
  /** Accesses by phase. */
  readonly counts: readonly number[]
}

/** What an address means to the rest of the analysis; 0 for nothing. */
export type Role = number

/**
 * Counts accesses by region, address, direction and size. One look-up is all that a line costs here: everything that a table
 * shows is summed up at the end. Bounded, since a trace of a frame buffer has millions of addresses.
 */
export interface Cells {
  /** Counts an access. Gives the role of its cell; -1 when there are too many different regions. */
  hit(access: RegionAccess, bytes: Uint8Array): Role
  /** From here on a new phase is counted. */
  nextPhase(): void
  list(): readonly Cell[]
}

/** How many addresses are told apart; a whole boot has about a thousand. */
export const MAX_ADDRESSES = 16_384
/** How many cells there are at most: those, and for each further region one of all its other addresses. */
const MAX_CELLS = 2 * MAX_ADDRESSES
const FIRST_SLOTS = 4096
// In a cell's mark of event, size and digits of the pointer.
const OTHERS = 1 << 22

/** Makes a {@link Cells}; `roleOf` says what a cell means when it is first seen. */
export function countCells(roleOf: (access: RegionAccess, name: string | undefined) => Role): Cells {
  const fields = Array.from({ length: 6 }, () => new Int32Array(MAX_CELLS))
  const [mrFirsts, mrRests, highs, lows, metas, hashes] = fields as [
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
  ]
  const mrDigits = new Int8Array(MAX_CELLS)
  const roles = new Int8Array(MAX_CELLS)
  const names: (string | undefined)[] = []
  const firsts: number[] = []
  const interned = new Map<string, string>()
  let counts = new Float64Array(MAX_CELLS)
  const earlier: Float64Array[] = []
  let slots = new Int32Array(FIRST_SLOTS).fill(-1)
  let used = 0

  function add(access: RegionAccess, bytes: Uint8Array, meta: number, slot: number): number {
    if (used === MAX_CELLS) return -1
    const cell = used
    used += 1
    const read = access.nameTo === 0 ? undefined : decoder.decode(bytes.subarray(access.nameFrom, access.nameTo))
    const name = read === undefined ? undefined : (interned.get(read) ?? read)
    if (name !== undefined) interned.set(name, name)
    names.push(name)
    mrFirsts[cell] = access.mrFirst
    mrRests[cell] = access.mrRest
    mrDigits[cell] = access.mrDigits
    const others = (meta & OTHERS) !== 0
    firsts.push(access.addressHigh, access.addressLow)
    highs[cell] = others ? -1 : access.addressHigh
    lows[cell] = others ? -1 : access.addressLow
    metas[cell] = meta
    hashes[cell] = access.nameHash
    roles[cell] = roleOf(access, name)
    slots[slot] = cell
    if (used * 2 > slots.length) grow()
    return cell
  }

  function grow(): void {
    slots = new Int32Array(slots.length * 2).fill(-1)
    const mask = slots.length - 1
    for (let cell = 0; cell < used; cell++) {
      let slot = mix(mrFirsts[cell]! ^ mrRests[cell]!, lows[cell]!, metas[cell]!) & mask
      while (slots[slot] !== -1) slot = (slot + 1) & mask
      slots[slot] = cell
    }
  }

  /** The slot of a cell, or the free one where it would stand. */
  function slotOf(access: RegionAccess, addressHigh: number, addressLow: number, meta: number): number {
    const { mrFirst, mrRest, nameHash } = access
    const mask = slots.length - 1
    let slot = mix(mrFirst ^ mrRest, addressLow, meta) & mask
    let cell = slots[slot]!
    while (
      cell !== -1 &&
      (lows[cell] !== addressLow ||
        mrRests[cell] !== mrRest ||
        metas[cell] !== meta ||
        hashes[cell] !== nameHash ||
        highs[cell] !== addressHigh ||
        mrFirsts[cell] !== mrFirst)
    ) {
      slot = (slot + 1) & mask
      cell = slots[slot]!
    }
    return slot
  }

  return {
    hit(access, bytes) {
      const { addressHigh, addressLow } = access
      let meta =
        access.event | ((access.size & 0x7ffff) << 3) | (access.mrDigits << 23) | (access.cpu < 0 ? 1 << 30 : 0)
      let slot = slotOf(access, addressHigh, addressLow, meta)
      let cell = slots[slot]!
      if (cell === -1 && used >= MAX_ADDRESSES) {
        meta |= OTHERS
        slot = slotOf(access, -1, -1, meta)
        cell = slots[slot]!
      }
      if (cell === -1) {
        cell = add(access, bytes, meta, slot)
        if (cell === -1) return -1
      }
      counts[cell]! += 1
      return roles[cell]!
    },
    nextPhase() {
      earlier.push(counts.slice(0, used))
      counts = new Float64Array(MAX_CELLS)
    },
    list() {
      const phases = [...earlier, counts]
      return names.map((name, cell) => ({
        mr: pointer(mrFirsts[cell]!, mrRests[cell]!, mrDigits[cell]!),
        ...(name !== undefined && { name }),
        address: (firsts[cell * 2]! >>> 0) * 2 ** 32 + (firsts[cell * 2 + 1]! >>> 0),
        others: (metas[cell]! & OTHERS) !== 0,
        event: metas[cell]! & 7,
        size: (metas[cell]! >> 3) & 0x7ffff,
        byVcpu: (metas[cell]! & (1 << 30)) === 0,
        counts: phases.map((phase) => phase[cell] ?? 0),
      }))
    },
  }
}

const decoder = new TextDecoder()

function mix(mr: number, addressLow: number, meta: number): number {
  const hash = Math.imul(mr ^ Math.imul(addressLow, 0x9e3779b1) ^ Math.imul(meta, 0x85ebca6b), 0xc2b2ae35)
  return hash ^ (hash >>> 15)
}

function pointer(first: number, rest: number, digits: number): string {
  const text = (first >>> 0).toString(16)
  return `0x${digits <= 8 ? text : text + (rest >>> 0).toString(16).padStart(digits - 8, '0')}`
}
