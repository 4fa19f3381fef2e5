import { writeFileSync } from 'node:fs'
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
  expect(json).toEqual({ format: 'boxlab-ps', version: 1, root, boxes: [] })
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
