import { readFileSync } from 'node:fs'
import { type SshFirst, sshFirst, type SshFirstInput, type SshFirstResult, type SshEvidence } from '../../src/index.ts'

/** Where the host's axis begins here, and how far the guest's clock lies behind, in ns. */
export const HOST_NS = 500_000_000_000

/** A line as JSON. */
export function line(value: object): string {
  return `${JSON.stringify(value)}\n`
}

/** A file of a real recording, of the folder's README. */
export function fixture(name: string): string {
  return readFileSync(new URL(`./fixtures/${name}`, import.meta.url), 'utf8')
}

export const head = line({ version: 1, transport: 'agent', user: 'root', port: 22, atNs: HOST_NS })

/** An exchange in which guest and host clocks are `ms` after their starts, known to 0.1 ms. */
export function exchange(ms: number): string {
  const at = ms * 1e6
  return line({ event: 'clock', hostSendNs: HOST_NS + at - 1e5, guestNs: at, hostRecvNs: HOST_NS + at + 1e5 })
}

const STEPS = ['dial', 'accept', 'banner', 'kex', 'auth', 'session', 'first-output', 'closed'] as const

/** A login whose steps come at these times, in ms after the guest's start. */
export function login(n: number, times: readonly number[], more: Readonly<Record<string, object>> = {}): string {
  return times
    .map((ms, index) => {
      const event = STEPS[index] ?? 'closed'
      return line({ login: n, event, atNs: HOST_NS + Math.round(ms * 1e6), ...more[event] })
    })
    .join('')
}

/** Two logins in a boot, the first of which waited for the port. */
export const twoLogins = [
  head,
  exchange(8000),
  login(1, [8001, 9000, 9100, 9250, 9400, 11_400, 11_450.5, 11_500], {
    accept: { attempts: 40, refusedAtNs: HOST_NS + 8_990_000_000 },
    banner: { text: 'SSH-2.0-OpenSSH_10.0p2 Debian-7' },
    kex: { hostKey: 'ssh-ed25519', fingerprint: 'SHA256:abc', method: 'curve25519-sha256' },
    'first-output': { text: 'logged in' },
  }),
  exchange(11_600),
  login(2, [11_601, 11_602, 11_700, 11_800, 11_900, 12_300, 12_350, 12_400], { accept: { attempts: 1 } }),
  exchange(12_500),
].join('')

/** The result of files that have one. */
export function found(input: SshFirstInput): SshFirst {
  const result: SshFirstResult = sshFirst(input)
  if (!result.found) throw new Error(result.message)
  return result
}

/** What is made of a login that came through these steps and was then refused. */
export function refusedAfter(steps: number, evidence: SshEvidence): NonNullable<SshFirst['refused']> {
  const times = [8001, 9000, 9100, 9250, 9400, 9500, 9600, 9700].slice(0, steps)
  const refusal = line({ login: 1, event: 'refused', atNs: HOST_NS + 10e9, evidence })
  const { refused } = found({ ssh: `${head}${exchange(8000)}${login(1, times)}${refusal}` })
  if (!refused) throw new Error('it was not refused')
  return refused
}
