import { describe, expect, test } from 'vitest'
import { unitFiles } from '../../src/stage0/unit-files.ts'

const folder = '/etc/systemd/system'

describe('units of a boot', () => {
  test('are enabled as their [Install] section says', () => {
    const text =
      '[Unit]\nWantedBy=wrong.target\n[Service]\nExecStart=/x\n[Install]\nWantedBy = a.target  b.target\nRequiredBy=c.target\nAlias=y.service\n'
    expect(unitFiles({ 'x.service': text })).toEqual([
      { path: `${folder}/x.service`, data: text },
      { path: `${folder}/a.target.wants/x.service`, link: `${folder}/x.service` },
      { path: `${folder}/b.target.wants/x.service`, link: `${folder}/x.service` },
      { path: `${folder}/c.target.requires/x.service`, link: `${folder}/x.service` },
      { path: `${folder}/y.service`, link: `${folder}/x.service` },
    ])
  })

  test('an empty value forgets those before it, and a line goes on behind a backslash', () => {
    const text = '[Install]\nWantedBy=a.target\nWantedBy=\nWantedBy=b.target \\\n c.target\r\n'
    expect(
      unitFiles({ 'x.timer': text })
        .slice(1)
        .map(({ path }) => path),
    ).toEqual([`${folder}/b.target.wants/x.timer`, `${folder}/c.target.wants/x.timer`])
  })

  test('drop-ins and units without [Install] are files and no more', () => {
    const units = { 'ssh.service.d/limits.conf': '[Install]\nWantedBy=a.target\n', 'y.mount': '[Mount]\n' }
    expect(unitFiles(units).map(({ path }) => path)).toEqual([
      `${folder}/ssh.service.d/limits.conf`,
      `${folder}/y.mount`,
    ])
  })
})
