import { describe, expect, it } from 'vitest'
import type { SshEvidence, SshRefusalCause } from '../../src/index.ts'
import { refusedAfter } from './a-login.ts'

/** By the number of steps that the login came through: 0 none, 1 dial, 2 accept, 3 banner, 4 kex, 5 auth, 6 session, 7 output. */
const refusals: readonly (readonly [SshRefusalCause, number, SshEvidence, RegExp])[] = [
  ['no-such-user', 0, { user: 'unknown' }, /no user root/],
  ['no-home', 0, { user: 'no-home' }, /home of root/],
  ['not-installed', 1, { timedOutMs: 900, sshd: '' }, /add openssh-server/],
  [
    'missing-host-keys',
    1,
    { timedOutMs: 900, sshd: '/usr/sbin/sshd', test: { exitCode: 1, said: 'sshd: no hostkeys available -- exiting.' } },
    /nothing listens on port 22, .*ssh-keygen -A/,
  ],
  ['missing-host-keys', 1, { timedOutMs: 900, sshd: '/usr/sbin/sshd', hostKeys: 0 }, /ssh_host_\*_key: none/],
  [
    'bad-config',
    1,
    { test: { exitCode: 255, said: '/etc/ssh/sshd_config: line 3: Bad configuration option: Prot' } },
    /sshd -t` says '.*Bad configuration/,
  ],
  [
    'other-address',
    1,
    { timedOutMs: 900, listening: ['10.0.2.15:22', '127.0.0.1:25'] },
    /open on 10\.0\.2\.15:22 only/,
  ],
  [
    'other-port',
    1,
    { timedOutMs: 900, config: { port: '2222' }, units: { 'ssh.service': 'active' } },
    /listens on port 2222 and not on 22/,
  ],
  [
    'not-started-yet',
    1,
    { timedOutMs: 900, system: 'starting', units: { 'ssh.service': 'inactive' } },
    /within 900 ms, and the boot is not over .*ssh\.service is inactive; give it more/,
  ],
  [
    'not-running',
    1,
    {
      timedOutMs: 900,
      system: 'running',
      units: { 'ssh.service': 'failed', 'ssh.socket': 'inactive' },
      sshd: '/usr/sbin/sshd',
    },
    /ssh\.service is failed, ssh\.socket is inactive; start it/,
  ],
  ['not-running', 1, { timedOutMs: 900 }, /no unit of systemd’s runs it/],
  ['not-listening', 1, { timedOutMs: 900, units: { 'ssh.service': 'active' } }, /ssh\.service is active/],
  // The port was opened at the very end.
  [
    'not-listening',
    1,
    { timedOutMs: 9, units: { 'ssh.service': 'active' }, listening: ['0.0.0.0:22'] },
    /did not accept/,
  ],
  ['source-penalty', 2, { said: 'Not allowed at this time' }, /PerSourcePenalties/],
  ['too-many-logins', 2, { said: 'Exceeded MaxStartups' }, /MaxStartups/],
  [
    'missing-host-keys',
    2,
    { hostKeys: 0, test: { exitCode: 1, said: 'sshd: no hostkeys available -- exiting.' } },
    /took the connection and dropped it before its banner/,
  ],
  ['no-banner', 2, { timedOutMs: 900 }, /no banner came within 900 ms/],
  [
    'dropped-before-banner',
    2,
    {
      hostKeys: 3,
      test: { exitCode: 0, said: '' },
      journal: ['fatal: out of memory', 'Connection closed by 127.0.0.1'],
    },
    /dropped before the banner; .*'fatal: out of memory'/,
  ],
  // Host keys may lie elsewhere: sshd is content, so it is something else.
  ['dropped-before-banner', 2, { hostKeys: 0, test: { exitCode: 0, said: '' } }, /dropped/],
  // Between two instances of sshd@.service this folder is not there, which is nothing to complain about.
  [
    'dropped-before-banner',
    2,
    { test: { exitCode: 255, said: 'Missing privilege separation directory: /run/sshd' } },
    /dropped/,
  ],
  ['key-exchange-failed', 3, { error: 'no matching key exchange algorithm' }, /no matching/],
  ['too-slow', 3, { timedOutMs: 900 }, /did not end after banner within 900 ms/],
  ['root-login-off', 4, { config: { permitrootlogin: 'no' } }, /PermitRootLogin is no/],
  ['root-login-off', 4, { config: { permitrootlogin: 'forced-commands-only' } }, /forced-commands-only/],
  ['public-keys-off', 4, { config: { pubkeyauthentication: 'no' }, methods: ['password'] }, /\(it offers password\)/],
  [
    'more-than-a-key',
    4,
    { partial: true, methods: ['password'], config: { authenticationmethods: 'publickey,password' } },
    /publickey,password/,
  ],
  [
    'user-not-allowed',
    4,
    { journal: ['User root from 127.0.0.1 not allowed because not listed in AllowUsers', 'Connection closed'] },
    /because not listed in AllowUsers/,
  ],
  ['wrong-modes', 4, { modes: [{ path: '/root', mode: '770', owner: 'root' }] }, /\/root is 770 of root/],
  ['wrong-modes', 4, { modes: [{ path: '/root/.ssh', mode: '700', owner: 'ada' }] }, /700 of ada/],
  [
    'authentication-refused',
    4,
    { modes: [{ path: '/root', mode: '777', owner: 'root' }], config: { strictmodes: 'no' } },
    /did not let root in/,
  ],
  ['other-authorized-keys', 4, { config: { authorizedkeysfile: '/etc/keys/%u' } }, /\/etc\/keys\/%u/],
  [
    'authentication-refused',
    4,
    { config: { authorizedkeysfile: '.ssh/authorized_keys .ssh/authorized_keys2' }, methods: ['publickey'] },
    /\(it offers publickey\)/,
  ],
  ['session-refused', 5, { error: 'Channel open failure' }, /got no session \(Channel open failure\)/],
  ['pam-session', 6, { exitCode: 254 }, /PAM did not open a session/],
  ['no-shell', 7, { exitCode: 1, output: 'This account is not available.', shell: '/usr/sbin/nologin' }, /nologin/],
  [
    'shell-ended',
    6,
    { exitCode: 127, shell: '/bin/bash' },
    /exit code 127 without a word: check the shell \(\/bin\/bash\)/,
  ],
  ['shell-ended', 7, { exitSignal: 'KILL', output: 'half' }, /signal KILL after it said 'half'/],
  ['too-slow', 6, { timedOutMs: 900 }, /after session within 900 ms/],
]

describe('a refused login', () => {
  it.each(refusals)('is %s after %i steps with %j', (cause, steps, evidence, why) => {
    expect(refusedAfter(steps, evidence)).toMatchObject({ login: 1, cause, evidence, why: expect.stringMatching(why) })
  })

  it('of a user other than root may be kept out by pam_nologin, and root by nothing of the kind', () => {
    expect(refusedAfter(4, { nologin: true }).cause).toBe('authentication-refused')
  })

  it('has a cause also with evidence that is damaged', () => {
    const damaged = { modes: 'x', units: [1], methods: [1, 'publickey'], test: {}, config: { permitrootlogin: 1 } }
    expect(refusedAfter(4, damaged as never)).toMatchObject({
      cause: 'authentication-refused',
      evidence: { methods: ['publickey'] },
    })
  })
})
