import type { ByteInput } from '../input/byte-input.ts'
import type { DiagnosticCounter } from '../input/diagnostics.ts'
import { countUnknownFields, isCount, isObject, isOneOf, isText, type JsonObject } from '../input/fields.ts'
import { type ItemReader, type JsonLines, readJsonLines } from '../input/json-lines.ts'
import type { ClockSample } from '../timeline/record.ts'
import { readEvidence, type SshEvidence } from './evidence.ts'

/** The file of a record that the harness writes while somebody logs in. */
export const SSH_FILE = 'guest/ssh.jsonl'

/** What becomes true in a login, in its order. */
export const SSH_EVENTS = ['dial', 'accept', 'banner', 'kex', 'auth', 'session', 'first-output', 'closed'] as const
/**
 * `dial`: the first attempt began. `accept`: the port took the connection. `banner`: the first bytes of `SSH-2.0-…`. `kex`:
 * keys are exchanged. `auth`: the server has let the user in. `session`: it has opened the session and taken the command.
 * `first-output`: the command's first bytes. `closed`: the connection has ended on both sides.
 */
export type SshEvent = (typeof SSH_EVENTS)[number]

/** The first line of a call of `sshFirst`: how it got to the server. */
export interface SshCallLine {
  readonly kind: 'call'
  readonly transport: string
  readonly user: string
  readonly port: number
  readonly atNs: number
}

/** One thing that became true in a login, on the host's clock. */
export interface SshEventLine {
  readonly kind: 'event'
  readonly login: number
  readonly event: SshEvent
  readonly atNs: number
  /** With `dial`: so many busy loops ran in the guest. */
  readonly busyCpus?: number
  /** With `accept`: connections that were tried, this one included, and when the last one before it was refused. */
  readonly attempts?: number
  readonly refusedAtNs?: number
  /** With `banner`: the server's line. With `first-output`: the text. */
  readonly text?: string
  /** With `kex`: type and SHA-256 fingerprint of the host's key, and the method. */
  readonly hostKey?: string
  readonly fingerprint?: string
  readonly method?: string
}

/** A login that did not come to its end, with what the guest said about it. */
export interface SshRefusedLine {
  readonly kind: 'refused'
  readonly login: number
  readonly atNs: number
  readonly evidence: SshEvidence
}

/** An exchange of clocks between two logins. */
export interface SshClockLine extends ClockSample {
  readonly kind: 'clock'
}

export type SshLine = SshCallLine | SshEventLine | SshRefusedLine | SshClockLine

const isEvent = isOneOf(SSH_EVENTS)
const CALL_FIELDS = ['version', 'transport', 'user', 'port', 'atNs']
const CLOCK_FIELDS = ['event', 'hostSendNs', 'guestNs', 'hostRecvNs']
const REFUSED_FIELDS = ['login', 'event', 'atNs', 'evidence']
const EVENT_FIELDS = [
  'login',
  'event',
  'atNs',
  'busyCpus',
  'attempts',
  'refusedAtNs',
  'text',
  'hostKey',
  'fingerprint',
  'method',
]

/** Reads `guest/ssh.jsonl`. Never throws on what it holds. */
export function readSsh(input: ByteInput): JsonLines<SshLine> {
  return readJsonLines(input, { file: SSH_FILE }, readSshLine)
}

/** Reads one line: `{"login":1,"event":"accept","atNs":81234567,"attempts":41}`. */
export const readSshLine: ItemReader<SshLine> = (value, line, problems) => {
  if (!isObject(value)) return bad(problems, line, 'not an object')
  if ('version' in value) return callLine(value, line, problems)
  if (value['event'] === 'clock') return clockLine(value, line, problems)
  const { login, event, atNs } = value
  if (!isNumbered(login)) return bad(problems, line, 'login')
  if (!isCount(atNs)) return bad(problems, line, 'atNs')
  if (event === 'refused') {
    countUnknownFields(value, REFUSED_FIELDS, line, problems)
    return { kind: 'refused', login, atNs, evidence: readEvidence(value['evidence']) }
  }
  if (!isEvent(event)) return bad(problems, line, 'event')
  countUnknownFields(value, EVENT_FIELDS, line, problems)
  return { kind: 'event', login, event, atNs, ...counts(value), ...texts(value) }
}

function callLine(value: JsonObject, line: number, problems: DiagnosticCounter): SshCallLine | undefined {
  const { version, transport, user, port, atNs } = value
  if (version !== 1) {
    problems.add('unknown-version', line)
    return undefined
  }
  if (!isText(transport)) return bad(problems, line, 'transport')
  if (!isText(user)) return bad(problems, line, 'user')
  if (!isNumbered(port)) return bad(problems, line, 'port')
  if (!isCount(atNs)) return bad(problems, line, 'atNs')
  countUnknownFields(value, CALL_FIELDS, line, problems)
  return { kind: 'call', transport, user, port, atNs }
}

function clockLine(value: JsonObject, line: number, problems: DiagnosticCounter): SshClockLine | undefined {
  const { hostSendNs, guestNs, hostRecvNs } = value
  if (!isCount(hostSendNs)) return bad(problems, line, 'hostSendNs')
  if (!isCount(guestNs)) return bad(problems, line, 'guestNs')
  if (!isCount(hostRecvNs) || hostRecvNs < hostSendNs) return bad(problems, line, 'hostRecvNs')
  countUnknownFields(value, CLOCK_FIELDS, line, problems)
  return { kind: 'clock', hostSendNs, guestNs, hostRecvNs }
}

function counts({ busyCpus, attempts, refusedAtNs }: JsonObject): Partial<SshEventLine> {
  return {
    ...(isNumbered(busyCpus) && { busyCpus }),
    ...(isNumbered(attempts) && { attempts }),
    ...(isCount(refusedAtNs) && { refusedAtNs }),
  }
}

function texts({ text, hostKey, fingerprint, method }: JsonObject): Partial<SshEventLine> {
  return {
    ...(isText(text) && { text }),
    ...(isText(hostKey) && { hostKey }),
    ...(isText(fingerprint) && { fingerprint }),
    ...(isText(method) && { method }),
  }
}

function isNumbered(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1
}

function bad(problems: DiagnosticCounter, line: number, field: string): undefined {
  problems.add('bad-field', line, field)
  return undefined
}
