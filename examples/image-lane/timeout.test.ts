import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Box } from '@boxlab/harness/vitest'
import { images } from './images.ts'

test('a boot that does not end says which job systemd was waiting on, and for whom', async () => {
  const box = new Box({
    image: images['trixie']!,
    cpus: 2,
    memoryMib: 768,
    // A disk that was forgotten: systemd waits 90 s for it, and everything local waits for the mount.
    units: {
      'mnt-data.mount':
        '[Unit]\nBefore=local-fs.target\n[Mount]\nWhat=/dev/vdz\nWhere=/mnt/data\nType=ext4\n[Install]\nRequiredBy=local-fs.target\n',
    },
    timeouts: { bootMs: 30_000 },
  })
  // #region sentence
  await expect(box.boot()).rejects.toThrow(
    /systemd was waiting on dev-vdz\.device \(90 s limit, started by mnt-data\.mount, \d+ jobs wait for it\)/,
  )
  // #endregion
  expect(readFileSync(join(box.record, 'guest/systemd-queue.txt'), 'utf8')).toMatch(
    /^\d+ dev-vdz\.device start running$/m,
  )
})
