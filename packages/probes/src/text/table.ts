import { asDisplayText } from '../kernel/terminal.ts'

/** Rows of cells as lines, indented by two blanks, their columns below one another: those in `left` begin there, figures end there. */
export function table(rows: readonly (readonly string[])[], left: readonly number[]): string[] {
  const shown = rows.map((row) => row.map(asDisplayText))
  const columns = shown[0]?.length ?? 0
  const widths = Array.from({ length: columns }, (_, column) =>
    shown.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  )
  return shown.map((row) =>
    `  ${row
      .map((cell, column) =>
        left.includes(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')}`.trimEnd(),
  )
}
