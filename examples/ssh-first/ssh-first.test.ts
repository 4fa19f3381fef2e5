import { beforeAll, describe, expect, test } from 'vitest'
import { useBox, Wait } from '@boxlab/harness/vitest'
import { chosen, type Variant, variants } from './variants.ts'

describe.each(chosen)('the first login of a box that is %s', (name: Variant) => {
  // #region suite
  const box = useBox({
    ...variants[name],
    name,
    cpus: 2,
    memoryMib: 768,
    record: { jobs: true },
    timeouts: { bootMs: 240_000 },
  })
  let logins: Awaited<ReturnType<typeof box.sshFirst>>
  beforeAll(async () => {
    logins = await box.sshFirst({ timeoutMs: 120_000 })
  }, 300_000)

  test('comes, and a second one after it', () => {
    expect(logins).toLogIn({ within: '300s', second: { within: '60s' } })
  })

  test('on a box at rest the second one has PID 1 start its session and nothing else', async () => {
    await box.waitFor(Wait.forSystemd())
    const { logins: atRest } = await box.sshFirst()
    expect(atRest[1]).toSetOffJobs([/^session-\d+\.scope$/])
  })
  // #endregion

  test('starts what this variant leaves to it, and nothing else', async () => {
    const { starts = [], finds = [], waitsForPort } = expected[name]
    const [first, second] = logins.logins
    const units = first?.jobs?.map(({ unit }) => unit)
    expect(units).toEqual(expect.arrayContaining([...starts]))
    for (const unit of finds) expect(units).not.toContain(unit)
    expect(second?.jobs?.map(({ unit }) => unit)).not.toContain('user@0.service')
    expect(first?.acceptedAtOnce).toBe(!waitsForPort)
    const { acceptUs = Number.NaN, sessionUs = Number.NaN } = first ?? {}
    const errorUs = logins.errorUs ?? Number.NaN
    for (const unit of [...starts, ...finds]) {
      const { stdout } = await box.exec(['systemctl', 'show', '-P', 'InactiveExitTimestampMonotonic', unit])
      // In µs after kernel start, as the times of the logins. PAM opens the session when logind has started what it needs.
      const atUs = Number(stdout.toString())
      expect(atUs).toBeGreaterThan(0)
      const byLogin = atUs > acceptUs - errorUs && atUs < sessionUs + errorUs
      expect([unit, byLogin]).toEqual([unit, starts.includes(unit)])
    }
  })
})

const [manager, logind] = ['user@0.service', 'systemd-logind.service']

/** Units that the first login starts, and units that it finds started. */
const expected: Readonly<
  Record<
    Variant,
    { readonly starts?: readonly string[]; readonly finds?: readonly string[]; readonly waitsForPort: boolean }
  >
> = {
  stock: { starts: [manager], finds: [logind], waitsForPort: true },
  linger: { finds: [manager, logind], waitsForPort: false },
  'without-motd': { starts: [manager], finds: [logind], waitsForPort: true },
  'logind-by-login': { starts: [logind, manager], waitsForPort: false },
  bookworm: { starts: [manager], finds: [logind], waitsForPort: true },
}
