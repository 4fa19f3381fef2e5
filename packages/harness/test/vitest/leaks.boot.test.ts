import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Ran, runVitest, statuses } from './run-vitest.ts'

/** The lines about leaks, without what differs from run to run. */
function leaksIn({ output }: Ran): string[] {
  const [, text = ''] = output.split('LEAK ')
  const [paragraph = ''] = text.split('\n\n')
  return paragraph.split('\n').map((line) => line.replaceAll(/\bb[0-9a-f]{10}\b/g, 'BOX').replace(/\d+$/, 'PID'))
}

function expectedLeaks(home: string): string[] {
  return [
    '2 boxes were still running at the end of the test file, so the run fails: `stop()` it, or boot it with `await using`',
    'first.trap.ts: box BOX, booted by "leaves a box"',
    '  left: engine process PID',
    `  left: record without an end ${home}/records/BOX`,
    'second.trap.ts: box BOX, booted outside of a test, in a hook or at the top of the file',
    '  left: engine process PID',
    `  left: record without an end ${home}/records/BOX`,
  ]
}

test.for(['forks', 'threads'])('a run in %s whose tests leave boxes fails and names who booted them', async (pool) => {
  const ran = await runVitest('leaking', { args: ['run', `--pool=${pool}`, '--passWithNoTests'] })
  expect(ran.code).toBe(1)
  expect(new Set(Object.values(statuses(ran)))).toEqual(new Set(['passed']))
  expect(leaksIn(ran)).toEqual(expectedLeaks(join(ran.out, 'home')))
})

test('two runs at once on the same suite and the same state root name only their own boxes', async () => {
  const home = mkdtempSync(join(tmpdir(), 'boxlab-leaks-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const runs = await Promise.all(
    ['forks', 'threads'].map((pool) => runVitest('leaking', { args: ['run', `--pool=${pool}`], home })),
  )
  // On a busy host one run may have to wait for its turn, and is told by whose box.
  const said = runs.map(({ output }) => output.replaceAll(/^boxlab: .* waits for .*$/gm, ''))
  const named = said.map((output) => new Set(output.match(/\bb[0-9a-f]{10}\b/g)))
  expect(named.map(({ size }) => size)).toEqual([2, 2])
  expect(named[0]?.isDisjointFrom(named[1] ?? new Set())).toBe(true)
  for (const run of runs) expect(leaksIn(run)).toEqual(expectedLeaks(home))
})
