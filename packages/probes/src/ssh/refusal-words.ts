import type { SshEvidence } from './evidence.ts'
import type { SshEvent } from './ssh-lines.ts'

/** Why a login was refused, as a word to assert on. */
export type SshRefusalCause =
  | 'no-such-user'
  | 'no-home'
  | 'not-installed'
  | 'missing-host-keys'
  | 'bad-config'
  | 'other-address'
  | 'other-port'
  | 'not-started-yet'
  | 'not-running'
  | 'not-listening'
  | 'source-penalty'
  | 'too-many-logins'
  | 'no-banner'
  | 'dropped-before-banner'
  | 'key-exchange-failed'
  | 'root-login-off'
  | 'public-keys-off'
  | 'more-than-a-key'
  | 'nologin'
  | 'user-not-allowed'
  | 'wrong-modes'
  | 'other-authorized-keys'
  | 'authentication-refused'
  | 'session-refused'
  | 'pam-session'
  | 'no-shell'
  | 'shell-ended'
  | 'too-slow'

/** A refused login that the cause is asked of. */
export interface Refusal {
  /** The last thing that became true. */
  readonly at: SshEvent
  readonly user: string
  readonly port: number
  readonly evidence: SshEvidence
}

/** The cause, and a sentence with the evidence and the remedy. */
export interface ExplainedRefusal {
  readonly cause: SshRefusalCause
  readonly why: string
}

/** Gives the cause where it is the one. */
export type Rule = (refusal: Refusal) => ExplainedRefusal | undefined

/** A cause with its sentence. */
export function because(cause: SshRefusalCause, why: string): ExplainedRefusal {
  return { cause, why }
}

/** A unit that runs sshd is active. */
export function isActive(units: SshEvidence['units']): boolean {
  return Object.values(units ?? {}).includes('active')
}

/** The bound that passed, as a part of a sentence. */
export function bound({ evidence: { timedOutMs } }: Refusal): string {
  return timedOutMs === undefined ? '' : ` within ${timedOutMs} ms`
}

/** What the server offers. */
export function offers(methods: readonly string[] | undefined): string {
  return methods === undefined || methods.length === 0 ? '' : ` (it offers ${methods.join(', ')})`
}

/** What the client said. */
export function clientSaid({ evidence: { error } }: Refusal): string {
  return error === undefined ? '' : ` (${error})`
}

// What sshd says of any login, whatever became of it.
const USUAL =
  /^(?:Accepted |Connection (?:closed|reset|from)|Disconnected |Received disconnect|Server listening|pam_unix\(sshd:session\): session)/

/** The guest's last word on it. */
export function heard({ evidence: { journal } }: Refusal): string {
  const last = journal?.findLast((line) => !USUAL.test(line))
  return last === undefined ? '' : `; sshd's last word in the journal is '${last}'`
}
