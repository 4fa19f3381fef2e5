import type { Problem } from '../input/problems.ts'
import { asDisplayText } from '../kernel/terminal.ts'

/** A diagnostic as a line: what, how often, where, and what it means. */
export function problemLine({ name, file, count, lines, about, meaning }: Problem<string>): string {
  const where = `${file}${lines.length === 0 ? '' : ` line ${lines.slice(0, 3).join(', ')}${count > 3 ? ', …' : ''}`}`
  const what = about.length === 0 ? '' : ` (${about.slice(0, 3).join(', ')}${about.length > 3 ? ', …' : ''})`
  return asDisplayText(`${name}: ${count} in ${where}${what}. ${meaning}`)
}
