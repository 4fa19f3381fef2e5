import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { useBox } from '../../../src/vitest/index.ts'
import { blockWhen, ownedBox } from '../owned-box.ts'

const { options, blockAt } = ownedBox()
const box = useBox(options)
if (blockAt !== undefined) blockWhen(box, blockAt)

test('holds a box until somebody ends it', { timeout: 90_000 }, async () => {
  await sleep(80_000)
  expect.unreachable('nobody ended it')
})
