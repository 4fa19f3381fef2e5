import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { currentOwner, formatOwner } from '../../src/owner.ts'
import { asideFolder } from '../../src/sweep/aside.ts'
import { sweep } from '../../src/sweep/index.ts'
import { deadOwner, emptyRoot } from './records.ts'

test('what dead engines had put aside goes, what living ones have stays', async () => {
  const root = emptyRoot()
  const { pid, startTicks } = await deadOwner()
  const dead = formatOwner({ ...currentOwner(), pid, tid: pid, startTicks: String(startTicks) })
  const folders = [
    join(root, 'boxes', `b1111111111-${dead}`),
    asideFolder(root, 'b2222222222'),
    join(root, 'boxes', 'somebody-elses'),
  ]
  for (const folder of folders) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'vl.ABCDEF'), 'a layer of a disk')
  }
  await sweep(root, { dryRun: true })
  expect(folders.map((folder) => existsSync(folder))).toEqual([true, true, true])
  await sweep(root)
  expect(folders.filter((folder) => existsSync(folder)).map((folder) => basename(folder))).toEqual(
    folders.slice(1).map((folder) => basename(folder)),
  )
})
