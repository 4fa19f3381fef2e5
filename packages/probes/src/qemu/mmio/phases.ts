/**
 * Where a phase begins: with the byte that completes `after` on the console, as the trace itself has it, or at a time of the
 * host's clock. A pattern is tried on whole lines; the phase then begins with the line feed's access.
 */
export type PhaseCut =
  | { readonly name: string; readonly after: string | RegExp }
  | { readonly name: string; readonly atUs: number }

/**
 * The phases of a Linux boot on a serial console, without any alignment of clocks. The first one, until the kernel's first
 * line is out, is `firmware`.
 */
export const BOOT_CUTS: readonly PhaseCut[] = [
  { name: 'early', after: /\bLinux version \d/ },
  { name: 'initcalls', after: /\bsmp: Brought up / },
  { name: 'userspace', after: /\bRun \S+ as init process/ },
  { name: 'login', after: ' login: ' },
]

export const FIRST_PHASE = 'firmware'

/** One phase of a trace, as far as the console and the clock tell. */
export interface Phase {
  readonly name: string
  /** The trace's line that begins it, from 1. */
  readonly line: number
  /** The stamp of that line. */
  readonly us?: number
  consoleBytes: number
}

/** Follows the console inside a trace. */
export interface PhaseFollower {
  readonly phases: readonly Phase[]
  /** Takes a byte that the guest wrote to its console; true when a phase ends with it. */
  byte(value: number, line: number, us: () => number | undefined): boolean
  /** True when a phase begins at this time. */
  time(us: number | undefined, line: number): boolean
  /** True while there is a cut by time ahead. */
  readonly byTime: boolean
}

const LINE_FEED = 10
const LONGEST_LINE = 4096

interface Wanted {
  readonly name: string
  readonly atUs?: number
  readonly pattern?: RegExp
  /** The bytes of words that end a phase as soon as they are out. */
  readonly words?: Uint8Array
}

/** Makes a {@link PhaseFollower}. */
export function followPhases(cuts: readonly PhaseCut[]): PhaseFollower {
  const phases: Phase[] = [{ name: FIRST_PHASE, line: 1, consoleBytes: 0 }]
  const wanted = cuts.map(wantedOf)
  const text = new Uint8Array(LONGEST_LINE)
  let length = 0
  let next = 0

  function begin(at: number, line: number, us: number | undefined): void {
    phases.push({ name: wanted[at]!.name, line, ...(us !== undefined && { us }), consoleBytes: 0 })
    next = at + 1
  }

  /** A phase may be missing, as `initcalls` of a kernel without SMP; one that has passed does not come again. */
  function lineReaches(end: number): number {
    const line = String.fromCharCode(...text.subarray(0, end))
    return wanted.findIndex(({ pattern }, at) => at >= next && pattern?.test(line) === true)
  }

  function wordsReach(value: number): number {
    for (let at = next; at < wanted.length; at++) {
      const words = wanted[at]!.words
      if (words !== undefined && words[words.length - 1] === value && endsWith(text, length, words)) return at
    }
    return -1
  }

  return {
    phases,
    get byTime() {
      return wanted.some(({ atUs }, at) => at >= next && atUs !== undefined)
    },
    byte(value, traceLine, us) {
      let at = -1
      if (next < wanted.length) {
        const end = length
        if (length < LONGEST_LINE) text[length++] = value
        at = wordsReach(value)
        if (value === LINE_FEED) {
          if (at === -1) at = lineReaches(end)
          length = 0
        }
      }
      if (at !== -1) begin(at, traceLine, us())
      phases[phases.length - 1]!.consoleBytes += 1
      return at !== -1
    },
    time(us, line) {
      if (us === undefined) return false
      const at = wanted.findLastIndex(({ atUs }, index) => index >= next && atUs !== undefined && atUs <= us)
      if (at === -1) return false
      begin(at, line, us)
      return true
    },
  }
}

function wantedOf(cut: PhaseCut): Wanted {
  const { name } = cut
  if ('atUs' in cut) return { name, atUs: cut.atUs }
  const { after } = cut
  if (typeof after === 'string') return { name, words: new TextEncoder().encode(after) }
  // Flags that keep a place between two calls have no meaning here.
  return { name, pattern: new RegExp(after.source, after.flags.replace(/[gy]/g, '')) }
}

function endsWith(text: Uint8Array, length: number, words: Uint8Array): boolean {
  if (words.length > length) return false
  for (let i = 1; i <= words.length; i++) if (text[length - i] !== words[words.length - i]) return false
  return true
}
