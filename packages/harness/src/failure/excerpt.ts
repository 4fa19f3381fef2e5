const before = 3
const after = 16

/** The lines around a line (from 1) of console bytes, as a log can show them. */
export function linesAround(console: Uint8Array, line: number): string {
  const lines = Buffer.from(console).toString().replaceAll('\r', '').trimEnd().split('\n')
  return lines.slice(Math.max(0, line - 1 - before), line + after).join('\n')
}
