import type { Asked, LedgerEntry, LedgerLimits } from '@boxlab/native'

/** Who waits for what, as one sentence without a full stop. */
export function describeWait(who: string, { why, holders, ahead }: Asked, limits: LedgerLimits): string {
  const queue = ahead.length > 0 ? `; ${count(ahead.length, 'other')} came first` : ''
  return `${who} waits ${reason()}${queue}`

  function reason(): string {
    const named = list(holders)
    if (why === 'exclusive') return `until the host is free: ${named} has it alone`
    if (why === 'others') return `to have the host alone, while ${count(holders.length, 'box', 'boxes')} run: ${named}`
    if (why === 'boxes') return `for a place among ${limits.maxBoxes}, held by ${named}`
    if (why === 'cpus') return `for a CPU to boot on, used by ${named}`
    if (why === 'memory') {
      const usedMib = holders.reduce((sum, { memoryMib }) => sum + memoryMib, 0)
      return `for memory (${usedMib} of ${limits.maxMemoryMib} MiB are held by ${named})`
    }
    return `behind ${list(ahead)}`
  }
}

/** An entry as a person knows it. */
export function nameOf({ id, label, memoryMib, pid, want }: LedgerEntry): string {
  const size = want === 'box' ? `${memoryMib} MiB, ` : ''
  return `${label ?? id} (${size}process ${pid})`
}

function list(entries: readonly LedgerEntry[]): string {
  const shown = entries.slice(0, 3).map(nameOf)
  const more = entries.length - shown.length
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ')
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`
}
