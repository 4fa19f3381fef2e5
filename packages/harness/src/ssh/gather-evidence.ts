import { isIPv4 } from 'node:net'
import type { SshEvidence } from '@boxlab/probes'
import { type Guest, scriptOutput } from './guest.ts'

/** Settings of sshd that can keep a user out (sshd_config(5)), as `sshd -T` names them. */
const settings = [
  'port',
  'permitrootlogin',
  'pubkeyauthentication',
  'authorizedkeysfile',
  'authenticationmethods',
  'strictmodes',
  'usepam',
  'allowusers',
  'denyusers',
  'allowgroups',
  'denygroups',
  'forcecommand',
]

const units = ['ssh.service', 'ssh.socket', 'sshd.service', 'sshd.socket']

/** A part begins with this byte and its name; nothing that is printed here has one. */
const mark = '\x01'

// Parts in the order in which they tell most, since the script has a bound. sshd wants its own absolute path.
const script = `
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
part() { printf '\\001%s\\n' "$1"; }
sshd=$(command -v sshd)
part sshd; echo "$sshd"
part hostKeys; ls /etc/ssh/ssh_host_*_key 2>/dev/null
part units; systemctl show --property=Id,LoadState,ActiveState ${units.join(' ')} 2>/dev/null
part system; systemctl is-system-running 2>/dev/null
if [ -n "$sshd" ]; then
  part test; said=$("$sshd" -t 2>&1 </dev/null); echo "$? $said"
  part config
  who="user=$1,host=localhost,addr=127.0.0.1,laddr=127.0.0.1,lport=$2"
  "$sshd" -T -C "$who" 2>/dev/null || "$sshd" -G -C "$who" 2>/dev/null
fi
part tcp; cat /proc/net/tcp /proc/net/tcp6 2>/dev/null
entry=$(getent passwd "$1" 2>/dev/null || grep "^$1:" /etc/passwd)
home=$(printf '%s' "$entry" | cut -d: -f6)
part shell; printf '%s\\n' "$entry" | cut -d: -f7
part modes; [ -z "$home" ] || stat -L -c '%a %U %n' "$home" "$home/.ssh" "$home/.ssh/authorized_keys" 2>/dev/null
part nologin; ls /run/nologin /etc/nologin 2>/dev/null
part journal; journalctl -b "$3" -n 8 -o cat --no-pager -q -t sshd -t sshd-session -t sshd-auth 2>/dev/null
`

/**
 * Asks the guest why a login may have been refused. Of the journal only the last `sinceMs` count, since an earlier login
 * may have been refused for something else; without it the whole boot does. What has no answer is absent; rejects when the
 * box has ended.
 */
export async function gatherEvidence(guest: Guest, user: string, port: number, sinceMs?: number): Promise<SshEvidence> {
  const parts = new Map<string, string>()
  const since = sinceMs === undefined ? '--quiet' : `--since=-${Math.ceil(sinceMs / 1000)}s`
  const words = [user, String(port), since]
  for (const text of (await scriptOutput(guest, script, words)).split(mark).slice(1)) {
    const end = text.indexOf('\n')
    parts.set(text.slice(0, end), text.slice(end + 1).trimEnd())
  }
  const [sshd, hostKeys, tcp, shell, modes, nologin, system] = [
    parts.get('sshd'),
    parts.get('hostKeys'),
    parts.get('tcp'),
    parts.get('shell'),
    parts.get('modes'),
    parts.get('nologin'),
    parts.get('system'),
  ]
  const states = unitStates(parts.get('units') ?? '')
  const [, exitCode, said = ''] = /^(\d+) ?([^]*)$/.exec(parts.get('test') ?? '') ?? []
  const config = pairs(parts.get('config')).filter(([name]) => settings.includes(name))
  const journal = lines(parts.get('journal'))
  return {
    ...(sshd !== undefined && { sshd }),
    ...(hostKeys !== undefined && { hostKeys: lines(hostKeys).length }),
    ...(states.length > 0 && { units: Object.fromEntries(states) }),
    ...(system && { system }),
    ...(exitCode !== undefined && { test: { exitCode: Number(exitCode), said: said.slice(0, 2000) } }),
    ...(config.length > 0 && { config: Object.fromEntries(config) }),
    ...(tcp !== undefined && { listening: listeningOn(tcp) }),
    ...(shell && { shell }),
    ...(modes !== undefined && { modes: lines(modes).map(modeOf) }),
    ...(nologin !== undefined && { nologin: nologin !== '' }),
    ...(journal.length > 0 && { journal: journal.map((line) => line.slice(0, 500)) }),
  }
}

function lines(text: string | undefined): string[] {
  return text?.split('\n').filter((line) => line !== '') ?? []
}

/** Lines of a name and what it has; one without a value says nothing. */
function pairs(text: string | undefined): (readonly [string, string])[] {
  return lines(text).flatMap((line) => {
    const [, name, value] = /^(\S+) (.+)$/.exec(line) ?? []
    return name !== undefined && value !== undefined ? [[name, value] as const] : []
  })
}

/** Units that are there, each by its own name and not by an alias, with their states. */
function unitStates(shown: string): (readonly [string, string])[] {
  const blocks = shown
    .split('\n\n')
    .map((block) => new Map(lines(block).map((line) => line.split('=', 2) as [string, string])))
  return blocks.flatMap((unit) => {
    const [id, state] = [unit.get('Id'), unit.get('ActiveState')]
    return id && state && unit.get('LoadState') !== 'not-found' ? [[id, state] as const] : []
  })
}

function modeOf(line: string): { path: string; mode: string; owner: string } {
  const [, mode = '', owner = '', path = ''] = /^(\S+) (\S+) (.*)$/.exec(line) ?? []
  return { path, mode, owner }
}

/** The sockets that listen, of /proc/net/tcp and tcp6 (proc(5)); exported for its test. */
export function listeningOn(text: string): string[] {
  const addresses = lines(text).flatMap((line) => {
    // sl, local address, remote address, state: 0A is TCP_LISTEN (include/net/tcp_states.h).
    const [, address = '', port = '', state] = /^\s*\d+: ([0-9A-F]+):([0-9A-F]{4}) \S+ ([0-9A-F]{2}) /.exec(line) ?? []
    return state === '0A' ? [`${addressOf(address)}:${Number.parseInt(port, 16)}`] : []
  })
  return [...new Set(addresses)]
}

/** An address as the kernel prints it: 32-bit words in the machine's order, which on x86 is little endian. */
function addressOf(hex: string): string {
  const bytes = Buffer.from(hex, 'hex')
  bytes.swap32()
  const v4 = bytes.join('.')
  if (isIPv4(v4)) return v4
  const groups = bytes.toString('hex').match(/.{4}/g) ?? []
  const short = groups.map((group) => group.replace(/^0{1,3}/, '')).join(':')
  return `[${short.replace(/(?:^|:)(?:0:){2,}|(?:^|:)(?:0:)+0$/, '::').replace(/^::0$/, '::')}]`
}
