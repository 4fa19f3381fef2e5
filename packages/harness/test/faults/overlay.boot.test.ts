import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Box } from '../../src/index.ts'
import { firmwareBox, ownHome } from '../fixtures/own-home.ts'

const home = ownHome()
const firmware = firmwareBox(home)
// QEMU makes the throw-away layer of a disk in this folder, and unlinks it once it is open.
const temp = join(home, 'tmp')
mkdirSync(temp)
process.env['TMPDIR'] = temp

test('an engine that is killed while it opens its disks leaves no throw-away layer behind', async () => {
  // That takes it some milliseconds between 8 and 33 after the spawn; about every sixth of these kills hits them.
  for (let kills = 0; kills < 48; kills += 1) {
    const box = new Box({ ...firmware, record: { keep: 'never' } })
    const boot = box.boot().catch(() => {})
    while (!box.marks().some(({ mark }) => mark === 'spawn')) await turn()
    await sleep(8 + (kills % 24))
    box.kill()
    await boot
    await box.stop()
  }
  expect(readdirSync(temp)).toEqual([])
  expect(readdirSync(join(home, 'records'))).toEqual([])
})
