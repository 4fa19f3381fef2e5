/** Rows with their columns below one another; all but the last are as wide as the widest, figures to the right. */
export function table(rows: readonly (readonly string[])[], textColumns: ReadonlySet<number>): string[] {
  const columns = rows[0]?.length ?? 0
  const widths = Array.from({ length: columns }, (_, column) =>
    rows.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0),
  )
  return rows.map((row) =>
    `  ${row
      .map((cell, column) => {
        if (column === columns - 1) return cell
        const width = widths[column] ?? 0
        return textColumns.has(column) ? cell.padEnd(width) : cell.padStart(width)
      })
      .join('  ')}`.trimEnd(),
  )
}
