import { isCount, isObject, isText, type JsonObject } from '../input/fields.ts'

/**
 * What client and guest had to say about a login that was refused. What was not asked, or had no answer, is absent. It is
 * kept raw in the record, so that the cause can be told again from it.
 */
export interface SshEvidence {
  /** Nothing more came within this bound, in ms. */
  readonly timedOutMs?: number
  /** The guest does not know the user, or the user has no home that is there. */
  readonly user?: 'unknown' | 'no-home'
  /** What the client said. */
  readonly error?: string
  /** What the server said in place of its version line. */
  readonly said?: string
  /** Methods of authentication that the server offers (RFC 4252, 5.1). */
  readonly methods?: readonly string[]
  /** It took the key and wants more. */
  readonly partial?: boolean
  /** How the command ended, and what it printed. */
  readonly exitCode?: number
  readonly exitSignal?: string
  readonly output?: string
  /** The program in the guest; `''` where there is none. */
  readonly sshd?: string
  /** The units that run it, as far as they are there, with their active state. */
  readonly units?: Readonly<Record<string, string>>
  /** `systemctl is-system-running`. */
  readonly system?: string
  /** `sshd -t`: whether it could start. */
  readonly test?: { readonly exitCode: number; readonly said: string }
  /** How many of /etc/ssh/ssh_host_*_key there are. */
  readonly hostKeys?: number
  /** Settings that hold for this user, from `sshd -T`. */
  readonly config?: Readonly<Record<string, string>>
  /** What StrictModes looks at: permission bits in octal, owner and path. */
  readonly modes?: readonly { readonly path: string; readonly mode: string; readonly owner: string }[]
  /** /run/nologin or /etc/nologin is there (pam_nologin(8)). */
  readonly nologin?: boolean
  /** TCP sockets that listen, such as `127.0.0.1:22`. */
  readonly listening?: readonly string[]
  /** The user's shell. */
  readonly shell?: string
  /** The last lines of sshd in the journal. */
  readonly journal?: readonly string[]
}

/** Evidence as a record holds it; a field that is not what it should be is left out. */
export function readEvidence(value: unknown): SshEvidence {
  if (!isObject(value)) return {}
  const { timedOutMs, user, partial, exitCode, test, hostKeys, modes, nologin, sshd } = value
  return {
    ...(isCount(timedOutMs) && { timedOutMs }),
    ...((user === 'unknown' || user === 'no-home') && { user }),
    ...textsOf(value),
    ...(typeof sshd === 'string' && { sshd }),
    ...listsOf(value),
    ...wordsOf(value),
    ...(typeof partial === 'boolean' && { partial }),
    ...(isCount(exitCode) && { exitCode }),
    ...(isObject(test) &&
      isCount(test['exitCode']) &&
      typeof test['said'] === 'string' && { test: { exitCode: test['exitCode'], said: test['said'] } }),
    ...(isCount(hostKeys) && { hostKeys }),
    ...(Array.isArray(modes) && { modes: modes.flatMap(modeOf) }),
    ...(typeof nologin === 'boolean' && { nologin }),
  }
}

function textsOf({ error, said, exitSignal, output, system, shell }: JsonObject): Partial<SshEvidence> {
  return {
    ...(isText(error) && { error }),
    ...(isText(said) && { said }),
    ...(isText(exitSignal) && { exitSignal }),
    ...(isText(output) && { output }),
    ...(isText(system) && { system }),
    ...(isText(shell) && { shell }),
  }
}

function listsOf({ methods, listening, journal }: JsonObject): Partial<SshEvidence> {
  return {
    ...(Array.isArray(methods) && { methods: methods.filter(isText) }),
    ...(Array.isArray(listening) && { listening: listening.filter(isText) }),
    ...(Array.isArray(journal) && { journal: journal.filter(isText) }),
  }
}

function wordsOf({ units, config }: JsonObject): Partial<SshEvidence> {
  return { ...(isObject(units) && { units: textual(units) }), ...(isObject(config) && { config: textual(config) }) }
}

function textual(value: JsonObject): Record<string, string> {
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => isText(entry[1])))
}

function modeOf(value: unknown): { path: string; mode: string; owner: string }[] {
  if (!isObject(value)) return []
  const { path, mode, owner } = value
  return isText(path) && isText(mode) && isText(owner) ? [{ path, mode, owner }] : []
}
