import { asDisplayText } from '../kernel/terminal.ts'

/** Lines as one text. Rows of tables begin with two blanks and are never cut; prose is broken at `width`. */
export function page(lines: readonly string[], width: number): string {
  const shown = lines.map(asDisplayText)
  return `${shown.flatMap((line) => (line.startsWith('  ') ? [line] : wrap(line, width))).join('\n')}\n`
}

/** What there is to say, with an empty line before each section that has something. */
export function sectionLines(sections: readonly (readonly string[])[]): string[] {
  return sections.flatMap((lines) => (lines.length === 0 ? [] : ['', ...lines]))
}

/** Breaks a line at blanks; what goes on is indented. A word longer than the width stays whole. */
export function wrap(line: string, width: number): string[] {
  const lines: string[] = []
  let current = ''
  for (const word of line.split(' ')) {
    const longer = current === '' ? word : `${current} ${word}`
    if (longer.length > width && current.trim() !== '') {
      lines.push(current)
      current = `  ${word}`
    } else current = longer
  }
  return [...lines, current]
}
