import type { Step } from './verdict.ts'
import type { FileTime } from './vitest.ts'

/** Where the time of a run went: its steps in order with their sum, then the slowest test files. Seconds. */
export function timesTable(steps: readonly Step[], slowest: readonly FileTime[]): string {
  const total = steps.reduce((sum, step) => sum + step.seconds, 0)
  const rows = [
    ...steps.map((step) => row(step.name, step.seconds, step.exitCode === 0 ? '' : 'failed')),
    row('together', total, ''),
  ]
  const files = slowest.map((file) => row(file.file, file.seconds, ''))
  const parts = [heading('step'), ...rows]
  if (files.length > 0) parts.push('', heading('slowest test files'), ...files)
  return parts.join('\n')
}

function heading(name: string): string {
  return `${name.padEnd(60)} ${'seconds'.padStart(8)}`
}

function row(name: string, seconds: number, remark: string): string {
  return `${name.padEnd(60)} ${seconds.toFixed(1).padStart(8)} ${remark}`.trimEnd()
}
