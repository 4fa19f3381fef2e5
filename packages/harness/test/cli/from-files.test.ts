import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { runBoxlab } from './run-boxlab.ts'

vi.setConfig({ testTimeout: 60_000 })

const TABLE = `JOB UNIT             TYPE  STATE
97  ssh.service      start waiting
└─  \twaiting for job 77 (network.target/start) -     -
77  network.target   start running

2 jobs listed.
`

/** A file with this text, for as long as the test runs. */
function file(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'boxlab-from-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'input.txt')
  writeFileSync(path, text)
  return path
}

describe('boxlab jobs', () => {
  test('prints the queue of a file', async () => {
    expect(await runBoxlab(['jobs', '--from', file(TABLE)])).toMatchObject({
      code: 0,
      stderr: '',
      stdout: `\
2 jobs · 1 running, 1 waiting · systemctl list-jobs · n=1

still queued:
  running  77 network.target
  waiting  97 ssh.service; waits on 77 network.target [running]
`,
    })
  })

  test('prints it as JSON of version 1', async () => {
    const { code, stdout } = await runBoxlab(['jobs', '--json', '--from', file(TABLE)])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      version: 1,
      jobs: [
        { id: 77, unit: 'network.target', type: 'start', state: 'running', waitedOn: [], blocking: [97] },
        { id: 97, unit: 'ssh.service', type: 'start', state: 'waiting', waitedOn: [77], blocking: [] },
      ],
      diagnostics: { unparsed: 0 },
    })
  })

  test('with no job in the queue is an answer', async () => {
    const { code, stdout } = await runBoxlab(['jobs', '--from', file('No jobs running.\n')])
    expect([code, stdout]).toEqual([0, '0 jobs · systemctl list-jobs · n=1\n'])
  })
})

describe.each([
  ['jobs', /^boxlab: no jobs: nothing in the input tells of jobs/],
  ['waits', /^boxlab: no waits of multi-user\.target: there is no whole unit/],
] as const)('boxlab %s', (command, sentence) => {
  test('exits with 1 and a sentence where there is no answer', async () => {
    const { code, stdout, stderr } = await runBoxlab([command, '--from', file('root:x:0:0\n')])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(sentence)
  })

  test('exits with 2 for a file that is not there', async () => {
    const { code, stdout, stderr } = await runBoxlab([command, '--from', '/nonexistent.txt'])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^boxlab: \/nonexistent\.txt cannot be read \(ENOENT\); give [^\n]+\n$/)
  })

  test('exits with 2 without a file or an image to boot', async () => {
    const { code, stderr } = await runBoxlab([command])
    expect(code).toBe(2)
    expect(stderr).toBe(`boxlab: give --from FILE… or --image KIND:PLACE; see \`boxlab ${command} --help\`
`)
  })
})
