// Adds up what the runners left in .reports/ and ends with 'N passed, N failed, N skipped'; its exit code says the same.
//   node scripts/summary.ts            the notes and the sum
//   node scripts/summary.ts --times    before them, the table of where the time went
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readCargoLog } from './results/cargo.ts'
import { timesTable } from './results/times.ts'
import { exitCodeOf, judge, readAllowedSkips, readSteps } from './results/verdict.ts'
import { readVitestReport, slowestFiles } from './results/vitest.ts'

const root = resolve(import.meta.dirname, '..')
const reports = join(root, '.reports')

function read(file: string): string | undefined {
  const path = join(reports, file)
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

function main(): number {
  const steps = readSteps(read('steps.tsv') ?? '')
  const vitestReport = read('vitest.json')
  const results = [
    readVitestReport(vitestReport, exitCodeOf(steps, 'vitest'), root),
    readCargoLog(read('cargo-test.log'), exitCodeOf(steps, 'cargo-test')),
  ]
  const allowed = readAllowedSkips(readFileSync(join(import.meta.dirname, 'allowed-skips.json'), 'utf8'))
  const verdict = judge(results, steps, allowed)
  if (process.argv.includes('--times')) console.log(timesTable(steps, slowestFiles(vitestReport, root, 5)))
  for (const note of verdict.notes) console.log(note)
  console.log(`${verdict.passed} passed, ${verdict.failed} failed, ${verdict.skipped} skipped`)
  return verdict.failed === 0 ? 0 : 1
}

try {
  process.exitCode = main()
} catch (error) {
  // Also a sum that could not be made ends with the line, and with a failure in it.
  console.log(error instanceof Error ? error.message : String(error))
  console.log('0 passed, 1 failed, 0 skipped')
  process.exitCode = 1
}
