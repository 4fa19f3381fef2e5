import { describe, expect, it } from 'vitest'
import { renderSshFirst, sshFirst, type SshFirstInput, sshFirstJson, type SshJob } from '../../src/index.ts'
import { exchange, fixture, head, line, login, twoLogins } from './a-login.ts'
import { problemsOf } from '../schema/problems-of.ts'

const boot = JSON.stringify({ version: 1, accelerator: { asked: 'auto', proved: 'tcg' } })

describe('the table of logins', () => {
  it('has a column of times and one of what came since the accept, and the jobs below', () => {
    const jobs = [
      { id: 101, unit: 'user-0.slice', type: 'start', installedUs: 9_500_000, removedUs: 9_500_600, result: 'done' },
      { id: 102, unit: 'user@0.service', type: 'start', installedUs: 9_500_100 },
    ]
    expect(renderSshFirst(sshFirst({ ssh: twoLogins, boot, jobs }))).toBe(`\
SSH logins of root on port 22, through the agent · SSH-2.0-OpenSSH_10.0p2 Debian-7 · ms after kernel
  start ±0.100 · tcg · n=1

                   login 1  after accept    login 2  after accept
  port accepts    9000.000                11602.000
  banner          9100.000      +100.000  11700.000       +98.000
  key exchange    9250.000      +250.000  11800.000      +198.000
  authenticated   9400.000      +400.000  11900.000      +298.000
  session open   11400.000     +2400.000  12300.000      +698.000
  first output   11450.500     +2450.500  12350.000      +748.000
  closed         11500.000     +2500.000  12400.000      +798.000
  jobs                   2                        0

login 1 knocked 40 times: the port refused at 8990.000 for the last time, and opened at most 10.000
  ms later

login 1: jobs that PID 1 created between accept and close
       from ms            ms  job
      9500.000         0.600  user-0.slice start done
      9500.100             -  user@0.service start not finished

login 2: PID 1 created no job between accept and close
`)
  })

  it('says why a login was refused, and that no jobs were recorded', () => {
    const refusal = line({ login: 1, event: 'refused', atNs: 1, evidence: { config: { permitrootlogin: 'no' } } })
    const ssh = `${head}${exchange(1)}${login(1, [10, 11, 12, 13], { accept: { attempts: 2 } })}${refusal}`
    const text = renderSshFirst(sshFirst({ ssh }))
    expect(text).toContain('login 1 was refused (root-login-off): sshd does not let root in by a key')
    expect(text).toMatch(/^ {2}session open +- +-$/m)
    expect(text).toContain('PID 1’s jobs were not recorded')
    expect(text.replaceAll(/\s+/g, ' ')).toContain('accelerator not proved')
  })

  it('shows nothing of a guest that a terminal would obey', () => {
    const ssh = `${head}${login(1, [10, 11, 12], { banner: { text: 'SSH-2.0-\u001b[2J\u0007' } })}`
    expect(renderSshFirst(sshFirst({ ssh }))).not.toContain('\u001b')
  })

  it.each([
    ['trixie', 1],
    ['no-host-keys', 13],
  ] as const)('of a recorded boot is what the documentation shows: %s', (name, call) => {
    const files = { ssh: fixture('trixie.ssh.jsonl'), clock: fixture('trixie.clock.jsonl') }
    const jobs = JSON.parse(fixture('trixie.jobs.json')) as SshJob[]
    const text = renderSshFirst(sshFirst({ ...files, boot: fixture('trixie.boot.json'), jobs, call }))
    expect(text).toBe(fixture(`${name}.ssh-first.txt`))
  })

  it('is a sentence where there is no login', () => {
    expect(renderSshFirst(sshFirst({ ssh: '' }))).toMatch(/^there is no login in guest\/ssh\.jsonl: call/)
  })
})

const problems = problemsOf('ssh-first-v1')

describe('the JSON of logins', () => {
  const recorded = { ssh: fixture('trixie.ssh.jsonl'), clock: fixture('trixie.clock.jsonl'), boot }
  const inputs: readonly SshFirstInput[] = [
    { ssh: twoLogins, jobs: [{ id: 1, unit: 'a.service', installedUs: 9_500_000 }] },
    { ssh: twoLogins.slice(0, -9) },
    { ssh: `${head}${login(1, [1, 2])}` },
    { ssh: '' },
    ...Array.from({ length: 17 }, (_, index) => ({ ...recorded, call: index + 1 })),
  ]

  it.each(inputs)('fits its schema: %#', (input) => {
    expect(problems(sshFirstJson(sshFirst(input)))).toEqual([])
  })

  it('has the fields of its contract', () => {
    const json = JSON.parse(JSON.stringify(sshFirstJson(sshFirst({ ssh: twoLogins, jobs: [] })))) as object
    const login1 = ['n', 'acceptUs', 'bannerUs', 'kexUs', 'authUs', 'sessionUs', 'firstOutputUs', 'jobs']
    expect(json).toMatchObject({ version: 1, transport: 'agent' })
    expect(Object.keys((json as { logins: [object] }).logins[0])).toEqual(expect.arrayContaining(login1))
  })

  it('does not fit its schema with a time that is none, a cause that is none or a field too much', () => {
    const json = sshFirstJson(sshFirst({ ssh: twoLogins }))
    const wrong = [
      { ...json, errorUs: 1.5 },
      { ...json, refused: { login: 1, at: 'dial', cause: 'weather', why: 'x', evidence: {} } },
      { ...json, surprise: 1 },
      { ...json, version: 2 },
    ]
    expect(wrong.map((one) => problems(one).length > 0)).toEqual([true, true, true, true])
  })
})
