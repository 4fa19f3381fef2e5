import { readFileSync } from 'node:fs'
import { type SshFirst, SSH_EVENTS } from '@boxlab/probes'
import { beforeAll, describe, expect, test } from 'vitest'
import { type SshFirstOptions, useBox, Wait } from '../../src/vitest/index.ts'
import { runBoxlab } from '../cli/run-boxlab.ts'
import { debianWithSsh } from './debian-with-ssh.ts'

const times = ['dialUs', 'acceptUs', 'bannerUs', 'kexUs', 'authUs', 'sessionUs', 'firstOutputUs', 'closedUs'] as const

// Ready as soon as the agent is: sshd starts while `sshFirst` is already knocking.
const box = useBox({
  image: debianWithSsh,
  cpus: 2,
  memoryMib: 768,
  waitFor: Wait.forMark('agent-ready'),
  timeouts: { bootMs: 240_000 },
  record: { jobs: true },
})

async function says(line: string): Promise<string> {
  return (await box.shell(line)).stdout.toString().trim()
}

/** A stamp of systemd's own, in us after kernel start. */
async function stamp(unit: string, property: string): Promise<number> {
  return Number(await says(`systemctl show -P ${property}TimestampMonotonic ${unit}`))
}

describe('logins in a boot', () => {
  let first: SshFirst
  beforeAll(async () => {
    await box.shell(
      'mkdir -m 700 /root/.ssh; printf "# mine" > /root/.ssh/authorized_keys; chmod 640 /root/.ssh/authorized_keys',
    )
    first = await box.sshFirst({ load: { cpus: 3 }, timeoutMs: 100_000 })
  }, 240_000)

  test('two come, and one more under load, each with all its marks in order', () => {
    expect(first.refused).toBe(undefined)
    expect(first).toMatchObject({
      transport: 'agent',
      user: 'root',
      port: 22,
      accelerator: expect.stringMatching(/kvm|tcg/),
      call: 1,
    })
    expect(first.logins.map(({ n, underLoad }) => [n, underLoad])).toEqual([
      [1, undefined],
      [2, undefined],
      [3, { cpus: 3 }],
    ])
    for (const login of first.logins) {
      const marks = times.map((name) => login[name] as number)
      expect(marks.every((time) => Number.isInteger(time))).toBe(true)
      expect(marks).toEqual(marks.toSorted((a, b) => a - b))
      expect(login).toMatchObject({ output: 'logged in', server: expect.stringMatching(/^SSH-2\.0-OpenSSH/) })
      expect(login.tookUs).toBe(login.afterAcceptUs['first-output'])
    }
  })

  test('the port was waited for: it had refused before', () => {
    const [login, second] = first.logins
    expect(login).toMatchObject({ acceptedAtOnce: false })
    expect(login?.attempts).toBeGreaterThan(1)
    expect(login?.refusedUs).toBeLessThan(login?.acceptUs ?? 0)
    expect(second).toMatchObject({ acceptedAtOnce: true, attempts: 1 })
  })

  test('the times line up with systemd’s own', async () => {
    await box.waitFor(Wait.forSystemd(), { timeoutMs: 100_000 })
    const [login] = first.logins
    const errorUs = first.errorUs ?? Number.NaN
    // sshd listens before it says that it is ready, and the port still refused some time before that.
    expect(login?.refusedUs).toBeLessThan((await stamp('ssh.service', 'ActiveEnter')) + errorUs)
    expect(login?.bannerUs).toBeGreaterThan((await stamp('ssh.service', 'InactiveExit')) - errorUs)
    // The first login starts the user's manager, and PAM lets it on when that is up.
    expect(await stamp('user@0.service', 'InactiveExit')).toBeGreaterThan((login?.acceptUs ?? Number.NaN) - errorUs)
    expect(await stamp('user@0.service', 'ActiveEnter')).toBeLessThan((login?.sessionUs ?? Number.NaN) + errorUs)
  })

  test('the first has PID 1 start the user’s manager, and each one a session', () => {
    const units = first.logins.map(({ jobs = [] }) => jobs.map(({ unit }) => unit))
    const session = expect.stringMatching(/^session-\d+\.scope$/)
    // The boot is under way, so that jobs of its own may be among them.
    expect(units[0]).toEqual(
      expect.arrayContaining(['user-0.slice', 'user-runtime-dir@0.service', 'user@0.service', session]),
    )
    for (const later of units.slice(1)) {
      expect(later).toEqual(expect.arrayContaining([session]))
      expect(later).not.toContain('user@0.service')
    }
    const manager = first.logins[0]?.jobs?.find(({ unit }) => unit === 'user@0.service')
    expect(manager).toMatchObject({ result: 'done' })
  })

  test('the host’s key is the guest’s own', async () => {
    const print = await says('ssh-keygen -l -f /etc/ssh/ssh_host_ed25519_key.pub')
    expect(first.logins[0]?.hostKey).toEqual({ type: 'ssh-ed25519', fingerprint: print.split(' ')[1] })
  })

  test('what was in authorized_keys stays, with its mode, and the key is there once', async () => {
    expect(await says('cat /root/.ssh/authorized_keys')).toMatch(/^# mine\nssh-ed25519 \S+ boxlab$/)
    expect(await says('stat -c "%a %U" /root/.ssh/authorized_keys')).toBe('640 root')
  })

  test('the load ends with its login', async () => {
    expect(await says("ps -eo args | grep -c '^/bin/sh -c while'")).toBe('0')
  })

  test('a record tells the same offline, as a table and as JSON', async () => {
    const json = await runBoxlab(['ssh-first', box.record, '--json'])
    const found = JSON.parse(json.stdout) as SshFirst
    expect(found.logins.map(({ acceptUs }) => Math.round((acceptUs ?? 0) / 1e5))).toEqual(
      first.logins.map(({ acceptUs }) => Math.round((acceptUs ?? 0) / 1e5)),
    )
    const names = ['guest/ssh.jsonl', 'guest/clock.jsonl', 'marks.jsonl', 'boot.json', 'guest/systemd-jobs.jsonl']
    const files = names.map((name) => `${box.record}/${name}`)
    expect(JSON.parse((await runBoxlab(['ssh-first', '--json', '--from', ...files])).stdout)).toEqual(found)
    expect((await runBoxlab(['ssh-first', box.record])).stdout).toContain('port accepts')
  })

  test('the matchers say whether and when, and take a box for its first call', () => {
    expect(first).toLogIn({ second: { within: '100s' } })
    expect(box).toLogIn({ within: '240s' })
    expect(first).not.toRefuseLogin()
    expect(() => expect(first).toLogIn({ within: 1 })).toThrow(
      /^the first login was done \d+\.\d ms after kernel start \((?:kvm|tcg), n=1\), and the bound is 1 ms$/,
    )
    expect(() => expect(first).toLogIn({ second: { within: 1 } })).toThrow(/^the second login took \d+\.\d ms/)
  })
})

describe('on a box that is up', () => {
  test('that the port was open before is said, and a bound on it is no verdict', async () => {
    const up = await box.sshFirst({ logins: 1 })
    expect(up.logins).toMatchObject([{ acceptedAtOnce: true, attempts: 1 }])
    expect(up.findings.map(({ name }) => name)).toContain('accept-is-upper-bound')
    expect(() => expect(up).toLogIn({ within: 1 })).toThrow('the port was open before it was tried')
    const marks = readFileSync(`${box.record}/marks.jsonl`, 'utf8').match(/"first-login-\w+"/g)
    expect(marks).toEqual(['"first-login-begin"', '"first-login-end"'])
  })

  test('another user logs in with a key of the same box, and pam_nologin keeps them out', async () => {
    await box.shell('useradd -m -s /bin/sh ada')
    const ada = await box.sshFirst({ user: 'ada', command: 'id -un' })
    expect(ada.logins).toMatchObject([{ output: 'ada' }, { output: 'ada' }])
    const [manager, session] = [
      ['user-1000.slice', 'user-runtime-dir@1000.service', 'user@1000.service'],
      /^session-\d+\.scope$/,
    ]
    expect(ada.logins[0]).toSetOffJobs([...manager, session])
    expect(ada.logins[1]).toSetOffJobs([session])
    expect(await says('stat -c "%a %U" /home/ada/.ssh /home/ada/.ssh/authorized_keys')).toBe('700 ada\n600 ada')
    await box.shell('touch /run/nologin')
    const kept = await box.sshFirst({ user: 'ada', logins: 1 })
    await box.shell('rm /run/nologin')
    expect(kept).toRefuseLogin('nologin')
  })
})

/** Each is provoked in the guest, asked for, and taken back. */
const refusals: readonly {
  readonly name: string
  readonly provoke: string
  readonly undo: string
  readonly options?: SshFirstOptions
  readonly expected: object
}[] = [
  {
    name: 'PermitRootLogin no',
    provoke: 'echo "PermitRootLogin no" > /etc/ssh/sshd_config.d/x.conf; systemctl reload ssh',
    undo: 'rm /etc/ssh/sshd_config.d/x.conf; systemctl reload ssh',
    expected: {
      at: 'kex',
      cause: 'root-login-off',
      why: expect.stringContaining('PermitRootLogin is no'),
      evidence: { methods: expect.arrayContaining(['publickey']) },
    },
  },
  {
    name: 'a home that others may write to',
    provoke: 'chmod 777 /root',
    undo: 'chmod 700 /root; systemctl reload ssh',
    expected: { at: 'kex', cause: 'wrong-modes', why: expect.stringContaining('/root is 777 of root') },
  },
  {
    name: 'a second factor',
    provoke: 'echo "AuthenticationMethods publickey,password" > /etc/ssh/sshd_config.d/x.conf; systemctl reload ssh',
    undo: 'rm /etc/ssh/sshd_config.d/x.conf; systemctl reload ssh',
    expected: { at: 'kex', cause: 'more-than-a-key' },
  },
  {
    name: 'a shell that ends at once',
    provoke: 'usermod -s /usr/sbin/nologin root',
    undo: 'usermod -s /bin/bash root',
    expected: { cause: 'no-shell', evidence: { output: 'This account is currently not available.' } },
  },
  {
    name: 'PAM that opens no session',
    provoke: 'cp /etc/pam.d/sshd /tmp/sshd; echo "session required pam_deny.so" >> /etc/pam.d/sshd',
    undo: 'cp /tmp/sshd /etc/pam.d/sshd',
    expected: { cause: 'pam-session' },
  },
  {
    name: 'a user who is not there',
    provoke: 'true',
    undo: 'true',
    options: { user: 'nobodyhere' },
    expected: { at: 'dial', cause: 'no-such-user' },
  },
  {
    name: 'an sshd that is stopped',
    provoke: 'systemctl stop ssh.service',
    undo: 'true',
    options: { timeoutMs: 1000 },
    expected: { at: 'dial', cause: 'not-running', why: expect.stringContaining('ssh.service is inactive') },
  },
  {
    name: 'a socket that takes connections for an sshd without host keys',
    provoke: 'mkdir /tmp/keys; mv /etc/ssh/ssh_host_* /tmp/keys; systemctl start ssh.socket',
    undo: 'systemctl stop ssh.socket',
    options: { timeoutMs: 30_000 },
    expected: {
      at: 'accept',
      cause: 'missing-host-keys',
      why: expect.stringContaining('dropped it before its banner'),
      evidence: { hostKeys: 0 },
    },
  },
  {
    name: 'a socket that starts an sshd for each connection, and has no host keys for it',
    provoke: `
printf '[Socket]\\nListenStream=127.0.0.1:2222\\nAccept=yes\\n' > /run/systemd/system/lab.socket
printf '[Service]\\nExecStart=-/usr/sbin/sshd -i\\nStandardInput=socket\\nRuntimeDirectory=sshd\\n' > /run/systemd/system/lab@.service
systemctl daemon-reload; systemctl start lab.socket`,
    undo: 'systemctl stop lab.socket',
    options: { port: 2222 },
    expected: {
      at: 'accept',
      cause: 'missing-host-keys',
      why: expect.stringContaining('dropped it before its banner'),
    },
  },
  {
    name: 'a service without host keys',
    provoke: 'systemctl start ssh.service',
    undo: 'mv /tmp/keys/* /etc/ssh/; systemctl reset-failed ssh.service; systemctl start ssh.service',
    options: { timeoutMs: 1000 },
    expected: { at: 'dial', cause: 'missing-host-keys', why: expect.stringContaining('no hostkeys available') },
  },
]

describe('a login that is refused is a result with its cause', () => {
  test.each(refusals)('$name', async ({ provoke, undo, options, expected }) => {
    await box.shell(provoke)
    const began = performance.now()
    const result = await box.sshFirst({ timeoutMs: 40_000, ...options })
    const tookMs = performance.now() - began
    await box.shell(undo)
    expect(result.refused).toMatchObject(expected)
    expect(result.logins.length).toBeLessThanOrEqual(1)
    // By what was seen, and not by the bound.
    expect(tookMs).toBeLessThan(35_000)
    expect(() => expect(result).toLogIn()).toThrow(/^login 1 was refused/)
  })

  test('and afterwards the box is as good as before', async () => {
    expect(await box.sshFirst({ logins: 1 })).toLogIn()
  })
})

describe('an end', () => {
  test('an abort ends the wait for the port', async () => {
    await box.shell('systemctl stop ssh.service')
    const signal = AbortSignal.timeout(300)
    await expect(box.sshFirst({ signal })).rejects.toMatchObject({ code: 'ERR_BOX_ABORTED' })
  })

  test('options that cannot be are refused by name', async () => {
    await expect(box.sshFirst({ user: 'a b' })).rejects.toThrow('`user` must be')
    await expect(box.sshFirst({ logins: 0 })).rejects.toThrow('`logins` must be')
    await expect(box.sshFirst({ load: { cpus: 0 } })).rejects.toThrow('`load.cpus` must be')
  })

  test('of the box ends a login with its reason', async () => {
    const login = box.sshFirst()
    setTimeout(() => box.kill(), 1000)
    await expect(login).rejects.toMatchObject({ code: 'ERR_BOX_KILLED' })
    // What was written by then is whole.
    const lines = readFileSync(`${box.record}/guest/ssh.jsonl`, 'utf8').trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line) as object).length).toBeGreaterThan(SSH_EVENTS.length)
  })
})
