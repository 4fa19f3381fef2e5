import { asDisplayText } from '../../kernel/terminal.ts'
import type { ReadingDiagnostic } from './reading-diagnostics.ts'

/** A diagnostic as a line: what, how often, where, and what it means. */
export function problemLine({ name, file, count, lines, about, meaning }: ReadingDiagnostic<string>): string {
  const where = `${file}${lines.length === 0 ? '' : ` line ${lines.slice(0, 3).join(', ')}${count > 3 ? ', …' : ''}`}`
  const what = about.length === 0 ? '' : ` (${about.slice(0, 3).join(', ')}${about.length > 3 ? ', …' : ''})`
  return asDisplayText(`${name}: ${count} in ${where}${what}. ${meaning}`)
}
