/** One instruction of a Dockerfile. */
export interface Instruction {
  /** In capitals. */
  readonly keyword: string
  /** What follows, its lines joined. */
  readonly text: string
  /** Number of its last line, from 0. */
  readonly lastLine: number
}

/** Splits a Dockerfile into its instructions: comments, continued lines and the `escape` directive (Dockerfile reference). */
export function readInstructions(dockerfile: string): Instruction[] {
  const lines = dockerfile.replace(/^\u{feff}/u, '').split(/\r?\n/)
  const escape = escapeOf(lines)
  const instructions: Instruction[] = []
  let parts: string[] = []
  for (const [lastLine, line] of lines.entries()) {
    // Inside an instruction too comments and empty lines are left out.
    if (/^\s*(#|$)/.test(line) && lastLine < lines.length - 1) continue
    const isComment = /^\s*(#|$)/.test(line)
    const trimmed = isComment ? '' : line.trimEnd()
    if (trimmed.endsWith(escape)) {
      parts.push(trimmed.slice(0, -1))
      if (lastLine < lines.length - 1) continue
    } else parts.push(trimmed)
    const [, keyword, text = ''] = /^\s*(\S+)\s*([^]*)$/.exec(parts.join('')) ?? []
    if (keyword !== undefined) instructions.push({ keyword: keyword.toUpperCase(), text: text.trim(), lastLine })
    parts = []
  }
  return instructions
}

/** Directives are comments of the form `# name=value` before anything else. */
function escapeOf(lines: readonly string[]): '\\' | '`' {
  for (const line of lines) {
    const directive = /^\s*#\s*([a-z]+)\s*=\s*(\S+)\s*$/i.exec(line)
    if (!directive) break
    if (directive[1]!.toLowerCase() === 'escape') return directive[2] === '`' ? '`' : '\\'
  }
  return '\\'
}
