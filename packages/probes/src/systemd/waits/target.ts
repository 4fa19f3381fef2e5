import type { Episode } from './episode.ts'
import type { SystemdState } from '../model.ts'
import type { LoginPrompt } from './prompt.ts'

/** What a target's name means in this boot: a unit, or a sentence why there is none. */
export type TargetUnit = { readonly id: string } | { readonly why: string }

const SSH_SERVICES = ['ssh.service', 'sshd.service']
const SSH_SOCKETS = ['ssh.socket', 'sshd.socket']

/** Finds the unit of a target: `login`, `ssh`, or the name or alias of a unit. */
export function findTarget(
  name: string,
  state: SystemdState,
  episodes: ReadonlyMap<string, Episode>,
  prompt: LoginPrompt | undefined,
): TargetUnit {
  if (name === 'login')
    return prompt === undefined
      ? { why: 'no getty came up, so that there is no login prompt; name a unit' }
      : { id: prompt.unit }
  if (name === 'ssh') return sshUnit(state, episodes)
  const id = state.ids.get(name)
  if (id !== undefined) return { id }
  if (state.damaged.has(name))
    return { why: `the block of ${name} is not whole or has a value that cannot be read; see the diagnostics` }
  const near = ['.target', '.service'].map((type) => state.ids.get(`${name}${type}`)).find((one) => one !== undefined)
  const remedy =
    near === undefined ? 'ask systemctl with --all, since it leaves out units without it' : `did you mean ${near}?`
  return { why: `there is no unit ${name.slice(0, 256)} in the input; ${remedy}` }
}

/** sshd accepts when its socket is up where systemd listens for it, else when the service has said that it listens. */
function sshUnit(state: SystemdState, episodes: ReadonlyMap<string, Episode>): TargetUnit {
  const cameUp = (names: readonly string[]): string | undefined =>
    names.map((name) => state.ids.get(name)).find((id) => id !== undefined && episodes.get(id)?.endedBy === 'active')
  const id = cameUp(SSH_SOCKETS) ?? cameUp(SSH_SERVICES)
  return id === undefined
    ? { why: 'neither ssh.service nor sshd.service nor their sockets came up; name a unit' }
    : { id }
}
