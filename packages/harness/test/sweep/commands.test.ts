import { existsSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { runBoxlab } from '../cli/run-boxlab.ts'
import { bootOf, deadOwner, emptyRoot, ownerOf, putRecord } from './records.ts'

vi.setConfig({ testTimeout: 60_000 })

test('where nothing is, each says so in one line', async () => {
  const root = emptyRoot()
  const env = { BOXLAB_HOME: root }
  const none = `no box runs, and none was left behind, in ${root}/records\n`
  expect(await runBoxlab(['ps'], { env })).toMatchObject({ code: 0, stdout: none, stderr: '' })
  const nothing = `nothing to sweep in ${root}/records\n`
  expect(await runBoxlab(['sweep'], { env })).toMatchObject({ code: 0, stdout: nothing, stderr: '' })
  const json = JSON.parse((await runBoxlab(['ps', '--json'], { env })).stdout) as unknown
  expect(json).toEqual({ format: 'boxlab-ps', version: 1, root, boxes: [], ledger: [] })
})

test('ps is a table with a way out below it, and sweep tells what it did', async () => {
  const root = emptyRoot()
  const env = { BOXLAB_HOME: root }
  const owner = await deadOwner()
  const live = putRecord(root, 'b1111111111', { owner: ownerOf(process.pid), name: 'a\u001b[31m red name' })
  const left = putRecord(root, 'b2222222222', { owner, startedAt: new Date(Date.now() - 7_300_000).toISOString() })
  const ended = putRecord(root, 'b3333333333', { outcome: 'failed' })

  expect((await runBoxlab(['ps'], { env })).stdout.split('\n')).toEqual([
    expect.stringMatching(/^BOX {10}NAME {8}STATE {5}AGE {4}OWNER +ENGINE {2}RECORD$/) as string,
    expect.stringMatching(new RegExp(`^b2222222222  - {11}orphaned  2 h    ${owner.pid} +- {7}${left}$`)) as string,
    expect.stringMatching(
      new RegExp(`^b1111111111  a red name  running   5 min  ${process.pid} +- {7}${live}$`),
    ) as string,
    '',
    `b2222222222: its owner, process ${owner.pid}, is gone; \`boxlab sweep\` ends it`,
    '',
  ])
  expect((await runBoxlab(['ps', '--all'], { env })).stdout).toMatch(
    new RegExp(`^b3333333333 .* failed .*${ended}$`, 'm'),
  )

  const gone = `b2222222222: its owner, process ${owner.pid}, is gone; `
  const dry = await runBoxlab(['sweep', '--dry-run'], { env })
  expect(dry).toMatchObject({ code: 0, stdout: `${gone}would be marked as killed, record kept: ${left}\n`, stderr: '' })
  const swept = await runBoxlab(['sweep'], { env })
  expect(swept).toMatchObject({ code: 0, stdout: `${gone}marked as killed, record kept: ${left}\n`, stderr: '' })
  expect(bootOf(left)['outcome']).toBe('killed')
  expect(bootOf(live)['outcome']).toBe('running')
  const removed = await runBoxlab(['sweep', '--remove', '--json'], { env })
  expect(JSON.parse(removed.stdout)).toMatchObject({
    format: 'boxlab-sweep',
    swept: [{ id: 'b2222222222', action: 'removed' }],
    unknown: [],
  })
})

test('records that cannot be read are one sentence and exit code 1', async () => {
  const root = emptyRoot()
  writeFileSync(join(root, 'records'), '')
  for (const command of ['ps', 'sweep']) {
    const { code, stdout, stderr } = await runBoxlab([command], { env: { BOXLAB_HOME: root } })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^boxlab: the records in .* cannot be read \(ENOTDIR\)[^\n]*\n$/)
  }
})

test('records of boxes that ended long ago are removed where that is asked for', async () => {
  const root = emptyRoot()
  const env = { BOXLAB_HOME: root }
  const [old, young] = [
    putRecord(root, 'b1111111111', { outcome: 'failed' }),
    putRecord(root, 'b2222222222', { outcome: 'failed' }),
  ]
  const live = putRecord(root, 'b3333333333', { owner: ownerOf(process.pid) })
  const copy = putRecord(root, 'my-copy', { outcome: 'failed', boxId: 'b4444444444' })
  const then = new Date(Date.now() - 3 * 86_400_000)
  for (const record of [old, live, copy]) utimesSync(join(record, 'boot.json'), then, then)
  expect(await runBoxlab(['sweep', '--older-than', '4'], { env })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^nothing/) as string,
  })
  const swept = await runBoxlab(['sweep', '--older-than', '2.5'], { env })
  expect(swept).toMatchObject({ code: 0, stdout: `b1111111111: it ended 3 d ago; removed: ${old}\n` })
  expect([old, young, live, copy].map((record) => existsSync(record))).toEqual([false, true, true, true])
  expect(await runBoxlab(['sweep', '--older-than', 'soon'], { env })).toMatchObject({ code: 2 })
})

test('the record of a box that nobody wanted to keep goes with its dead owner', async () => {
  const root = emptyRoot()
  const left = putRecord(root, 'b1111111111', { owner: await deadOwner(), keep: 'never' })
  const swept = await runBoxlab(['sweep'], { env: { BOXLAB_HOME: root } })
  expect(swept.stdout).toMatch(/; removed: /)
  expect(existsSync(left)).toBe(false)
})

test('ps tells for which test a box is', async () => {
  const root = emptyRoot()
  const bootedBy = { file: '/suite/boots.test.ts', test: 'a box > boots' }
  putRecord(root, 'b1111111111', { owner: ownerOf(process.pid), bootedBy })
  const { stdout } = await runBoxlab(['ps'], { env: { BOXLAB_HOME: root } })
  expect(stdout).toMatch(/ENGINE {2}TEST +RECORD\n.* boots\.test\.ts > a box > boots {2}\//)
})
