// How long the waits of a large dump take: 10,000 units, below 300 ms, in time linear in the size. Absolute times say little on
// a shared host, so each size takes turns with the cheapest thing that one could do with the text: a regular expression on
// every line, as a script would begin.
//
//   npm run bench -- waits
import { waits } from '../src/index.ts'
import { dumpOf } from '../test/systemd/large-dump.ts'

const SIZES = [2500, 5000, 10_000, 20_000]
const ROUNDS = 7
const BOUND_MS = 300
const BOUND_UNITS = 10_000

function regexOnly(text: string): number {
  let found = 0
  for (const line of text.split('\n')) if (/^\t(?:Inactive Exit|Active Enter) Timestamp: (.+)$/.test(line)) found += 1
  return found
}

function timed(work: () => unknown): number {
  const from = performance.now()
  work()
  return performance.now() - from
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

const cell = (text: string | number): string => String(text).padStart(12)
console.log(`waits of a synthetic systemd-analyze dump, median of ${ROUNDS}, the two arms taking turns`)
console.log(['units', 'MB', 'waits ms', 'regex ms', 'ratio', 'us a unit'].map(cell).join(''))
let failed = false
for (const units of SIZES) {
  const dump = dumpOf(units)
  const inputs = [{ name: 'dump', input: dump }]
  const target = `u${units - 1}.service`
  const result = waits(inputs, { target })
  if (!result.found || result.diagnostics.units !== units)
    throw new Error(`the dump of ${units} units was not read whole`)
  const arms = { waits: [] as number[], regex: [] as number[] }
  for (let round = 0; round < ROUNDS; round++) {
    arms.waits.push(timed(() => waits(inputs, { target })))
    arms.regex.push(timed(() => regexOnly(dump)))
  }
  const [waitsMs, regexMs] = [median(arms.waits), median(arms.regex)]
  const row = [
    units,
    (dump.length / 1e6).toFixed(1),
    waitsMs.toFixed(1),
    regexMs.toFixed(1),
    (waitsMs / regexMs).toFixed(2),
    ((waitsMs * 1000) / units).toFixed(1),
  ]
  console.log(row.map(cell).join(''))
  if (units === BOUND_UNITS) failed = waitsMs > BOUND_MS
}
console.log(`bound: ${BOUND_UNITS} units in ${BOUND_MS} ms: ${failed ? 'NOT HELD' : 'held'}`)
process.exitCode = failed ? 1 : 0
