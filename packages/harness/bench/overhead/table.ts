/** Lays out rows under a head: the first column to the left, numbers to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
  return all.map((row) => `  ${line(row)}`.trimEnd()).join('\n')
}

/** A number with few digits, as many as matter. */
export function short(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toFixed(digits)
}

/** A number with its sign. */
export function signed(value: number): string {
  return `${value < 0 ? '' : '+'}${short(value)}`
}
