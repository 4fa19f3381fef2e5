import { cp, mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { bootDisk } from '../fixtures/boot-sector.ts'
import { temporaryFolder } from '../images/temporary-folder.ts'
import { runBoxlab, startBoxlab } from './run-boxlab.ts'

let folder = ''
let whole = ''
let failed = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'boxlab-show-'))
  const disk = join(folder, 'disk.img')
  await writeFile(disk, bootDisk('hello from firmware\r\n'))
  whole = join(folder, 'whole')
  failed = join(folder, 'failed')
  const args = ['boot', '--firmware-disk', disk, '--accel', 'tcg']
  await runBoxlab([...args, '--wait-console', 'done', '--record', whole])
  const never = ['--wait-console', 'never printed', '--timeout', '1500', '--record', failed]
  await runBoxlab([...args, ...never])
  return () => rm(folder, { recursive: true, force: true })
})

/** A copy of a record that a test may damage. */
async function copyOf(record: string): Promise<string> {
  const copy = join(await temporaryFolder(), 'record')
  await cp(record, copy, { recursive: true })
  return copy
}

describe('a record alone gives the table', () => {
  test('of a boot that became ready', async () => {
    const { code, stdout, stderr } = await runBoxlab(['show', whole])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/accelerator tcg/)
    expect(stdout).toMatch(/^engine-init +\d+\.\d+ +\d+\.\d+ /m)
    expect(stdout).toMatch(/^ready +0\.0 +\d+\.\d+ /m)
    expect(stdout).not.toContain('\u001b')
  })

  test('of a boot that failed, with where and why, and with success: showing it worked', async () => {
    const { code, stdout } = await runBoxlab(['show', failed])
    expect(code).toBe(0)
    expect(stdout).toMatch(/died/)
    expect(stdout).toMatch(/never printed.*did not come within 1500 ms/s)
  })

  test('as data for programs', async () => {
    const { code, stdout } = await runBoxlab(['show', whole, '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      format: 'boxlab-timeline',
      version: 1,
      box: { accelerator: { proved: 'tcg' }, outcome: 'stopped' },
    })
  })

  test('of a record that was cut off while it was written, and says so', async () => {
    const torn = await copyOf(whole)
    const marks = join(torn, 'marks.jsonl')
    await truncate(marks, (await readFile(marks)).length - 7)
    const { code, stdout } = await runBoxlab(['show', torn])
    expect(code).toBe(0)
    expect(stdout).toMatch(/marks\.jsonl: torn-tail/)
    expect(stdout).toMatch(/^engine-init /m)
  })

  test('of a record without its boot.json, or with one that is none', async () => {
    const without = await copyOf(whole)
    await rm(join(without, 'boot.json'))
    expect((await runBoxlab(['show', without])).stdout).toMatch(/^engine-init /m)
    await writeFile(join(without, 'boot.json'), '{"version":1,"box')
    const { code, stdout } = await runBoxlab(['show', without])
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^engine-init /m)])
    expect(stdout).toMatch(/boot\.json: bad-json/)
  })

  test('of nothing when there are no marks, and that is no success', async () => {
    const empty = await copyOf(whole)
    await writeFile(join(empty, 'marks.jsonl'), '')
    const { code, stdout } = await runBoxlab(['show', empty])
    expect([code, stdout]).toEqual([1, expect.stringMatching(/no marks: it measured nothing/)])
  })

  test('to a reader that leaves early, without a word', async () => {
    const running = startBoxlab(['show', whole, '--json'])
    running.child.stdout?.destroy()
    expect(await running.ended).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('what is not a record is refused in one sentence', () => {
  test.for([
    ['nothing', /there is no record .*nothing; give the folder/],
    ['disk.img', /disk\.img is a file and a record is a folder/],
    ['empty', /is not a record: it has neither boot\.json nor marks\.jsonl/],
    ['odd', /is not a record|cannot be read/],
  ] as const)('%s', async ([name, sentence]) => {
    await mkdir(join(folder, 'empty'), { recursive: true })
    await mkdir(join(folder, 'odd', 'marks.jsonl'), { recursive: true })
    const { code, stdout, stderr } = await runBoxlab(['show', join(folder, name)])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(sentence)
    expect(stderr).toMatch(/^boxlab: [^\n]+\n$/)
  })

  test('a record with a folder in place of a file', async () => {
    const odd = await copyOf(whole)
    await rm(join(odd, 'console.bin'))
    await mkdir(join(odd, 'console.bin'))
    const { code, stderr } = await runBoxlab(['show', odd])
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^boxlab: the record .* cannot be read: .*\n$/)])
  })
})
