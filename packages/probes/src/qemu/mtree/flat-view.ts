/** A range of `info mtree -f -o` (system/memory.c: mtree_print_flatview), in the address space that its view belongs to. */
export interface FlatRange {
  /** `pio`: the space called I/O; `mmio`: one that holds memory. */
  readonly space: 'pio' | 'mmio'
  readonly from: number
  /** Inclusive. */
  readonly to: number
  readonly name: string
  /** Where the region itself begins: before `from` for a part of one, whose middle something else covers. */
  readonly base: number
  /** Whose it is: a device's id, else its path in the object model; absent for one of nobody. */
  readonly owner?: string
}

/** What a text of `info mtree` held. */
export interface MtreeReading {
  readonly ranges: readonly FlatRange[]
  /** Flat views in the text; without one there is no range. */
  readonly views: number
  /** True where owners are printed (`-o`). */
  readonly owners: boolean
}

const RANGE = /^\s*([0-9a-f]{8,16})-([0-9a-f]{8,16}) \(prio -?\d+, ([^)]*)\): (.*)$/
const OWNER = / owner:\{(?:dev|obj) (?:(id)|path|type)=([^}]*)\}/
const PARENT_OR_ORPHAN = / (?:owner|parent):\{| orphan/
const PERIPHERAL = /^\/machine\/peripheral\/([^/]+)$/
const MAX_RANGES = 20_000

/** Reads `info mtree -f -o` as HMP prints it. Lines of other commands are passed over. */
export function readMtree(text: string): MtreeReading {
  const found = new Map<string, FlatRange>()
  let space: FlatRange['space'] | undefined
  let views = 0
  let owners = false
  for (const line of text.split('\n')) {
    if (line.startsWith('FlatView #')) {
      views += 1
      space = undefined
      continue
    }
    const as = /^ AS "([^"]*)", root: (.*?)\r?$/.exec(line)
    // A view that several spaces share names them all; the I/O space shares its view with nobody.
    if (as !== null) space ??= as[1] === 'I/O' ? 'pio' : 'mmio'
    // Before the first view stands what `info mtree` alone prints: regions relative to what they lie in.
    if (views === 0 || space === undefined) continue
    const range = RANGE.exec(line.trimEnd())
    if (range === null || found.size >= MAX_RANGES) continue
    const [, from = '', to = '', type = '', rest = ''] = range
    // Accesses to RAM and to ROM never come to QEMU.
    if (!/^(?:i\/o|romd|ramd)/.test(type)) continue
    const owner = OWNER.exec(rest)
    owners ||= PARENT_OR_ORPHAN.test(rest)
    const one: FlatRange = {
      space,
      from: Number.parseInt(from, 16),
      to: Number.parseInt(to, 16),
      name: nameOf(rest),
      base: Number.parseInt(from, 16) - offsetOf(rest),
      ...(owner !== null && { owner: ownerOf(owner) }),
    }
    found.set(`${space} ${from} ${to} ${one.name}`, one)
  }
  return { ranges: [...found.values()], views, owners }
}

function nameOf(rest: string): string {
  const end = rest.search(PARENT_OR_ORPHAN)
  return (end === -1 ? rest : rest.slice(0, end)).replace(/ @[0-9a-f]{8,16}$/, '')
}

function offsetOf(rest: string): number {
  const offset = / @([0-9a-f]{8,16})(?= (?:owner|parent):\{| orphan|$)/.exec(rest)?.[1]
  return offset === undefined ? 0 : Number.parseInt(offset, 16)
}

function ownerOf([, id, text = '']: RegExpExecArray): string {
  return id === undefined ? (PERIPHERAL.exec(text)?.[1] ?? text) : text
}
