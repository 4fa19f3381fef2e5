/** The last lines of a terminal, drawn again and again. */
export interface LiveRegion {
  /** Puts this text in place of what was drawn before. */
  draw(text: string): void
  /** Takes away what was drawn. */
  clear(): void
}

// ECMA-48: cursor up n lines (CUU), erase from the cursor to the end of the screen (ED 0).
const ESC = '\u001b['

/** Makes a region at the cursor, which must be at the start of a line. Nothing else may write while it stands. */
export function liveRegion(stream: NodeJS.WriteStream): LiveRegion {
  let height = 0

  function replace(lines: readonly string[]): void {
    const erase = height === 0 ? '' : `${ESC}${height}A${ESC}J`
    height = lines.length
    stream.write(erase + lines.map((line) => `${line}\n`).join(''))
  }

  return {
    draw(text) {
      // A line that wraps or leaves the screen cannot be taken back.
      const rows = Math.max((stream.rows || 24) - 1, 1)
      const lines = text.replace(/\n$/, '').split('\n').slice(0, rows)
      replace(lines.map((line) => clip(line, stream.columns || 80)))
    },
    clear: () => replace([]),
  }
}

/** Coloured lines are cut without their colours. */
function clip(line: string, columns: number): string {
  // oxlint-disable-next-line no-control-regex -- colours are control sequences
  const plain = line.replace(/\u001b\[[0-9;]*m/g, '')
  return plain.length <= columns ? line : `${plain.slice(0, columns - 1)}…`
}
