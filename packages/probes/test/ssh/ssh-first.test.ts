import { describe, expect, it } from 'vitest'
import { sshFirst, type SshJob } from '../../src/index.ts'
import { exchange, fixture, found, head, HOST_NS, line, login, twoLogins } from './a-login.ts'

describe('two logins', () => {
  it('have their times in us after kernel start, with the error of the clocks', () => {
    const { logins, errorUs, transport, origin, refused, clock } = found({ ssh: twoLogins })
    expect({ transport, origin, refused }).toEqual({ transport: 'agent', origin: 'kernel-start', refused: undefined })
    expect(clock).toMatchObject({ state: 'mapped', basis: 'pings', clock: 'monotonic', anchors: 3 })
    expect(errorUs).toBe(100)
    expect(logins[0]).toEqual({
      n: 1,
      dialUs: 8_001_000,
      acceptUs: 9_000_000,
      bannerUs: 9_100_000,
      kexUs: 9_250_000,
      authUs: 9_400_000,
      sessionUs: 11_400_000,
      firstOutputUs: 11_450_500,
      closedUs: 11_500_000,
      refusedUs: 8_990_000,
      tookUs: 2_450_500,
      afterAcceptUs: {
        banner: 100_000,
        kex: 250_000,
        auth: 400_000,
        session: 2_400_000,
        'first-output': 2_450_500,
        closed: 2_500_000,
      },
      attempts: 40,
      acceptedAtOnce: false,
      server: 'SSH-2.0-OpenSSH_10.0p2 Debian-7',
      hostKey: { type: 'ssh-ed25519', fingerprint: 'SHA256:abc' },
      keyExchange: 'curve25519-sha256',
      output: 'logged in',
    })
    expect(logins[1]).toMatchObject({ n: 2, tookUs: 748_000, acceptedAtOnce: true, attempts: 1 })
  })

  it('say that a port which accepted at the first try may have been open for long', () => {
    const ssh = `${head}${exchange(1)}${login(1, [10, 11, 12, 13, 14, 15, 16, 17], { accept: { attempts: 1 } })}`
    expect(found({ ssh }).findings.map(({ name }) => name)).toEqual(['accept-is-upper-bound', 'no-job-recording'])
  })

  it('have the jobs that were created between accept and close, and no others', () => {
    const job = (id: number, unit: string, installedUs?: number): SshJob => ({
      id,
      unit,
      type: 'start',
      ...(installedUs !== undefined && { installedUs }),
    })
    const jobs = [
      job(1, 'multi-user.target'),
      job(90, 'late.service', 8_999_800),
      job(103, 'session-1.scope', 9_500_300),
      job(101, 'user-0.slice', 9_500_000),
      job(102, 'user@0.service', 9_500_200),
      job(140, 'between.service', 11_550_000),
      job(161, 'session-2.scope', 12_000_000),
    ]
    const { logins, findings } = found({ ssh: twoLogins, jobs })
    expect(logins.map(({ jobs: setOff }) => setOff?.map(({ unit }) => unit))).toEqual([
      ['user-0.slice', 'user@0.service', 'session-1.scope'],
      ['session-2.scope'],
    ])
    expect(findings).toEqual([])
  })

  it('have them up to the refusal where there was one', () => {
    const refusal = line({ login: 1, event: 'refused', atNs: HOST_NS + 9.2e9, evidence: {} })
    const jobs = [
      { id: 7, unit: 'sshd@0.service', installedUs: 9_050_000 },
      { id: 8, unit: 'later.service', installedUs: 9_300_000 },
    ]
    const ssh = `${head}${exchange(8000)}${login(1, [8001, 9000])}${refusal}`
    expect(found({ ssh, jobs }).logins[0]?.jobs).toEqual([jobs[0]])
  })

  it('have no jobs at all, rather than none, where no recording was made', () => {
    const { logins, findings } = found({ ssh: twoLogins })
    expect(logins.every((one) => !('jobs' in one))).toBe(true)
    expect(findings).toMatchObject([{ name: 'no-job-recording' }])
  })

  it('have no jobs where the recording has a hole, which is said, and those of the other one', () => {
    const jobs = [{ id: 161, unit: 'session-2.scope', type: 'unknown', installedUs: 12_000_000, more: 1 }]
    const { logins, findings } = found({ ssh: twoLogins, jobs, holes: [{ startUs: 1, endUs: 9_200_000 }] })
    expect(logins[0]).not.toHaveProperty('jobs')
    expect(logins[1]?.jobs).toEqual([{ id: 161, unit: 'session-2.scope', installedUs: 12_000_000 }])
    expect(findings).toMatchObject([
      { name: 'hole-in-jobs', message: expect.stringContaining('login 1 set off is not known') },
    ])
    expect(found({ ssh: twoLogins, jobs, holes: [{ startUs: 1 }] }).findings).toHaveLength(2)
  })

  it('take the accelerator from boot.json, and more exchanges of clocks from clock.jsonl', () => {
    const clock = line({ hostSendNs: HOST_NS, guestNs: 0, hostRecvNs: HOST_NS + 2000 })
    const boot = JSON.stringify({ version: 1, accelerator: { asked: 'auto', proved: 'tcg' } })
    expect(found({ ssh: twoLogins, clock, boot })).toMatchObject({ accelerator: 'tcg', clock: { anchors: 4 } })
  })
})

describe('a guest whose clock is not known', () => {
  const ssh = `${head}${login(1, [8001, 9000, 9100, 9250, 9400, 11_400, 11_450, 11_500])}`

  it('has no times after kernel start, but what the login took', () => {
    const { logins, errorUs, clock, findings } = found({ ssh, jobs: [{ id: 1, unit: 'a.service', installedUs: 9e6 }] })
    expect(clock.state).toBe('absent')
    expect(errorUs).toBe(undefined)
    expect(logins).toMatchObject([{ tookUs: 2_450_000, afterAcceptUs: { banner: 100_000 } }])
    expect(Object.keys(logins[0] ?? {}).filter((name) => name.endsWith('Us'))).toEqual(['tookUs', 'afterAcceptUs'])
    expect(logins[0]).not.toHaveProperty('jobs')
    expect(findings.map(({ name }) => name)).toEqual(['clock-unknown'])
  })

  it('has a clock that runs wrongly: the same, with the reason', () => {
    const sample = (hostMs: number, guestMs: number): string =>
      line({
        event: 'clock',
        hostSendNs: HOST_NS + hostMs * 1e6,
        guestNs: guestMs * 1e6,
        hostRecvNs: HOST_NS + hostMs * 1e6,
      })
    const { clock, logins } = found({ ssh: `${ssh}${sample(1000, 1000)}${sample(9000, 8000)}` })
    expect(clock).toMatchObject({ state: 'invalid' })
    expect(logins[0]).not.toHaveProperty('acceptUs')
  })

  it('is mapped by when its console was read where there was no exchange, with printk’s error', () => {
    const mark = (clock: 'host' | 'guest', atNs: number): string =>
      line({ mark: 'init-run', source: 'console', clock, atNs })
    const marks = `${mark('host', HOST_NS + 1e9)}${mark('guest', 1e9)}`
    const { clock, errorUs } = found({ ssh, marks })
    expect(clock).toMatchObject({ state: 'mapped', basis: 'console-receipt', clock: 'printk' })
    expect(errorUs).toBeGreaterThan(250_000)
  })
})

describe('several calls in one record', () => {
  const again =
    twoLogins + head + exchange(20_000) + login(1, [20_001, 20_002, 20_003, 20_004, 20_005, 20_006, 20_007, 20_008])

  it('are told apart; the first one is the boot’s', () => {
    expect(found({ ssh: again })).toMatchObject({ call: 1, calls: 2, logins: [{ n: 1 }, { n: 2 }] })
    expect(found({ ssh: again, call: 2 })).toMatchObject({ call: 2, calls: 2, logins: [{ acceptUs: 20_002_000 }] })
  })

  it('of which one is asked for that is not there: it says how many there are', () => {
    expect(sshFirst({ ssh: again, call: 3 })).toMatchObject({ found: false, message: /no call 3 .* has 2/ })
  })
})

describe('a file that is not what it should be', () => {
  it.each([
    ['nothing', '', []],
    ['another file', 'hello\nworld\n', ['bad-json']],
    ['a newer version', line({ version: 2, transport: 'agent', user: 'root', port: 22, atNs: 1 }), ['unknown-version']],
    ['logins without a head', login(1, [1, 2, 3]), []],
    ['something binary', '\u0000\u0001\n\uFFFD', ['bad-json', 'torn-tail']],
  ])('has no answer and says why: %s', (_name, ssh, diagnostics) => {
    const result = sshFirst({ ssh })
    expect(result).toMatchObject({ found: false, message: expect.stringContaining('sshFirst') })
    expect(result.diagnostics.map((one) => one.name)).toEqual(diagnostics)
  })

  it('that was cut off in the middle of a line gives what was whole before', () => {
    const torn = twoLogins.slice(0, twoLogins.indexOf('"session"') + 4)
    const { logins, diagnostics, findings } = found({ ssh: torn })
    expect(logins).toMatchObject([{ authUs: 9_400_000 }])
    expect(logins[0]).not.toHaveProperty('sessionUs')
    expect(logins[0]).not.toHaveProperty('tookUs')
    expect(diagnostics).toMatchObject([{ name: 'torn-tail', file: 'guest/ssh.jsonl' }])
    expect(findings.map(({ name }) => name)).toContain('not-finished')
  })

  it('with times that are out of order says that they mean nothing', () => {
    const { findings } = found({ ssh: `${head}${exchange(1)}${login(1, [10, 11, 9, 12])}` })
    expect(findings.map(({ name }) => name)).toContain('out-of-order')
  })

  it('with lines and fields that are none counts them and reads on', () => {
    const wrong = [
      '7\n',
      line({ login: 1, event: 'hello', atNs: 1 }),
      line({ login: 0, event: 'accept', atNs: 1 }),
      line({ login: 1, event: 'accept', atNs: '1' }),
      line({ event: 'clock', hostSendNs: 5, guestNs: 1, hostRecvNs: 4 }),
      line({ login: 9, event: 'dial', atNs: HOST_NS, surprise: 1 }),
    ].join('')
    const { diagnostics, logins } = found({ ssh: twoLogins + wrong })
    expect(diagnostics.filter(({ name }) => name === 'bad-field').reduce((sum, { count }) => sum + count, 0)).toBe(5)
    expect(diagnostics.filter(({ name }) => name === 'unknown-field')).toMatchObject([{ detail: 'surprise' }])
    expect(logins.map(({ n }) => n)).toEqual([1, 2, 9])
  })
})

describe('a recorded boot of Debian 13', () => {
  const input = { ssh: fixture('trixie.ssh.jsonl'), clock: fixture('trixie.clock.jsonl') }

  it('has two logins and one under load, the first of which is the dearest', () => {
    const { logins, errorUs, findings } = found(input)
    expect(errorUs).toBeLessThan(1000)
    expect(findings.map(({ name }) => name)).toEqual(['no-job-recording'])
    expect(logins).toMatchObject([{ n: 1, acceptedAtOnce: false }, { n: 2 }, { n: 3, underLoad: { cpus: 3 } }])
    expect(logins[0]?.tookUs).toBeGreaterThan(logins[1]?.tookUs ?? Number.NaN)
  })

  it('has the jobs that each login set off', () => {
    const jobs = JSON.parse(fixture('trixie.jobs.json')) as SshJob[]
    const units = found({ ...input, jobs }).logins.map((one) => one.jobs?.map(({ unit }) => unit))
    expect(units).toEqual([
      ['user-runtime-dir@0.service', 'user-0.slice', 'user@0.service', 'session-1.scope'],
      ['session-3.scope'],
      ['session-4.scope'],
    ])
  })

  it('has the causes of eleven refused logins, told from what was seen then', () => {
    const { calls } = found(input)
    const causes = Array.from({ length: calls }, (_, index) => found({ ...input, call: index + 1 }).refused?.cause)
    expect(causes.filter((cause) => cause !== undefined)).toEqual([
      'nologin',
      'root-login-off',
      'wrong-modes',
      'more-than-a-key',
      'no-shell',
      'pam-session',
      'no-such-user',
      'not-running',
      'missing-host-keys',
      'missing-host-keys',
      'missing-host-keys',
    ])
  })
})
