/** A problem that a suite accepts, with the reason. */
export interface AllowEntry {
  /** A text that the problem's first line contains, or an expression that matches it. */
  readonly pattern: string | RegExp
  /** Why it is acceptable; for whoever reads the suite later. */
  readonly reason: string
}

/** Which entry allowed a finding. */
export interface AllowedBy {
  /** Its place in the list, from 0. */
  readonly index: number
  readonly pattern: string
  readonly reason: string
}

/** An entry that allowed nothing: the problem is gone, or the pattern is wrong. */
export interface UnusedAllow extends AllowedBy {
  readonly message: string
}

/** A checked allow list. Has memory: it knows which entries were used. */
export interface AllowList {
  find(text: string): AllowedBy | undefined
  unused(): readonly UnusedAllow[]
}

/** Checks an allow list. Throws a TypeError that names the entry and what it lacks. */
export function allowList(entries: readonly AllowEntry[]): AllowList {
  const checked = entries.map((entry, index) => ({ ...describe(entry, index), matches: matcherOf(entry, index) }))
  const used = new Set<number>()
  return {
    find(text) {
      const entry = checked.find(({ matches }) => matches(text))
      if (entry === undefined) return undefined
      const { index, pattern, reason } = entry
      used.add(index)
      return { index, pattern, reason }
    },
    unused() {
      return checked
        .filter(({ index }) => !used.has(index))
        .map(({ index, pattern, reason }) => ({ index, pattern, reason, message: unusedSentence(index, pattern) }))
    },
  }
}

function describe(entry: AllowEntry, index: number): AllowedBy {
  const { pattern, reason } = entry
  const shown = String(pattern)
  if (typeof reason !== 'string' || reason.trim() === '') {
    throw new TypeError(`allow[${index}] (${shown}) has no \`reason\`: say why this problem is acceptable.`)
  }
  return { index, pattern: shown, reason }
}

function matcherOf({ pattern }: AllowEntry, index: number): (text: string) => boolean {
  if (pattern instanceof RegExp) {
    // A global or sticky expression remembers where it stopped, so that its answers would depend on earlier ones.
    const stateless = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''))
    return (text) => stateless.test(text)
  }
  if (typeof pattern !== 'string' || pattern === '') {
    throw new TypeError(
      `allow[${index}].pattern must be a RegExp or a text that is not empty; an empty one allows everything.`,
    )
  }
  return (text) => text.includes(pattern)
}

function unusedSentence(index: number, pattern: string): string {
  return `allow[${index}] (${pattern}) allowed nothing: remove it if the problem is gone, or correct its pattern.`
}
