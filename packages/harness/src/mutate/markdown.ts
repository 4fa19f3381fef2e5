import type { GateResult } from './gate.ts'

/** What came of the gate as Markdown of GitHub's, such as for a job's summary: the closing line first, then tables. */
export function gateMarkdown({ lines, verdict }: GateResult): string {
  const closing = `### ${text(lines.at(-1) ?? '')}\n`
  if (!verdict) return closing
  const { survived, exempt, problems } = verdict
  return [
    closing,
    table(
      ['survived', 'mutator', 'change', 'not noticed by'],
      survived.map(({ file, line, column, mutator, original, replacement, coveredBy }) => [
        text(`${file}:${line}:${column}`),
        mutator,
        `${code(original)} → ${code(replacement)}`,
        coveredBy.length === 0 ? 'no test runs it' : coveredBy.map(text).join('; '),
      ]),
    ),
    problems.map((problem) => `- ${text(problem)}\n`).join(''),
    table(
      ['exempt', 'mutator', 'reason'],
      exempt.map(({ file, line, mutator, reason }) => [text(`${file}:${line}`), mutator, text(reason)]),
    ),
  ]
    .filter((part) => part !== '')
    .join('\n')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

function text(words: string): string {
  return words.replaceAll(/[\\`*_[\]<>|]/g, String.raw`\$&`)
}

/** A code span: its fence is longer than any run of backticks in it, and a bar would end the table's cell. */
function code(words: string): string {
  if (words === '') return 'nothing'
  const fence = '`'.repeat(Math.max(0, ...Array.from(words.matchAll(/`+/g), ([run]) => run.length)) + 1)
  const pad = words.startsWith('`') || words.endsWith('`') ? ' ' : ''
  return `${fence}${pad}${words.replaceAll('|', String.raw`\|`)}${pad}${fence}`
}
