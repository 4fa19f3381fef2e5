import { createHash } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { BoxError } from '@boxlab/native'
import type { SshEvent, SshEvidence } from '@boxlab/probes'
import type { Client, ClientChannel, NegotiatedAlgorithms } from 'ssh2'
import { unlessAborted } from '../unless-aborted.ts'
import { bannerOf } from './banner.ts'

/** One login. */
export interface LoginOrder {
  readonly ssh2: typeof import('ssh2')
  readonly stream: Duplex
  readonly user: string
  /** As OpenSSH writes it. */
  readonly privateKey: string
  readonly command: string
  readonly timeoutMs: number
  readonly untilMs: number
  readonly signal?: AbortSignal | undefined
  readonly aborted: () => BoxError
  /** Told of each step as it comes. */
  mark(event: SshEvent, atNs: bigint, more?: object): void
}

/** What is kept of the command's output, in characters. */
const shownChars = 500

type Facts = { -readonly [name in keyof SshEvidence]: SshEvidence[name] }

/** A login on its way. */
interface Attempt {
  readonly facts: Facts
  reached: SshEvent
}

/**
 * Logs in over a connection, runs the command and closes. Gives nothing where it did, else what the client saw. Rejects at
 * an abort only: of a box that has ended the next question to it tells.
 */
export async function logIn(order: LoginOrder): Promise<SshEvidence | undefined> {
  const { ssh2, stream, timeoutMs, untilMs, signal, aborted } = order
  const attempt: Attempt = { facts: {}, reached: 'accept' }
  const client = new ssh2.Client()
  const closed = Promise.withResolvers<void>()
  const timer = setTimeout(
    () => {
      attempt.facts.timedOutMs = timeoutMs
      closed.resolve()
    },
    Math.max(1, untilMs - performance.now()),
  )
  try {
    follow(client, order, attempt)
    // The client itself waits for both directions, and of a server that has left only the one ends.
    for (const end of ['end', 'close'] as const) stream.on(end, () => closed.resolve())
    client.on('close', () => closed.resolve())
    await unlessAborted(closed.promise, signal, aborted)
  } finally {
    clearTimeout(timer)
    client.on('error', () => {})
    stream.on('error', () => {}).destroy()
  }
  const { facts, reached } = attempt
  const done = facts.exitCode === 0 && (reached === 'first-output' || reached === 'closed')
  if (done) return undefined
  return facts
}

function follow(client: Client, order: LoginOrder, attempt: Attempt): void {
  const { ssh2, stream, user, privateKey, command } = order
  const { facts } = attempt
  const reach = (event: SshEvent, more?: object, atNs: bigint = process.hrtime.bigint()): void => {
    attempt.reached = event
    order.mark(event, atNs, more)
  }
  const banner = bannerOf()
  // Before the client's own listener, so that the stamp is not after its work on the bytes.
  stream.on('data', (bytes: Buffer) => {
    const found = banner.take(bytes, process.hrtime.bigint())
    if (found) reach('banner', { text: found.text.slice(0, shownChars) }, found.atNs)
  })
  let hostKey = {}
  client.on('handshake', ({ kex }: NegotiatedAlgorithms) => {
    // It comes again with each new exchange of keys.
    if (attempt.reached === 'banner') reach('kex', { ...hostKey, method: kex })
  })
  const failed = ({ message }: Error): void => {
    facts.error ??= message
    client.end()
  }
  client.on('ready', () => {
    reach('auth')
    try {
      client.exec(command, (error, channel) => {
        if (error) return failed(error)
        reach('session')
        runIn(channel, facts, (text) => reach('first-output', { text }))
        channel.on('close', () => client.end())
      })
    } catch (error) {
      // The connection is gone already.
      failed(error as Error)
    }
  })
  client.on('error', ({ message }) => {
    facts.error ??= message
    if (attempt.reached === 'accept' && banner.said !== '') facts.said = banner.said
  })
  stream.on('end', () => {
    if (attempt.reached === 'first-output') reach('closed')
  })
  client.connect({
    sock: stream,
    username: user,
    // The login as a whole has a bound.
    readyTimeout: 0,
    hostVerifier: (key: Buffer) => {
      hostKey = { hostKey: keyType(key), fingerprint: `SHA256:${sha256(key)}` }
      return true
    },
    authHandler: authentication(ssh2, user, privateKey, facts),
  })
}

/** As OpenSSH's client does it: asks without anything first, which tells what the server takes, then the key. */
function authentication(
  ssh2: typeof import('ssh2'),
  user: string,
  privateKey: string,
  facts: Facts,
): import('ssh2').AuthHandlerMiddleware {
  const key = ssh2.utils.parseKey(privateKey)
  if (key instanceof Error) throw key
  let tried = false
  return (methods, partial, next) => {
    if (methods === null) return next({ type: 'none', username: user })
    facts.methods = methods
    if (partial) facts.partial = true
    if (tried || !(methods as string[]).includes('publickey')) return next(false as never)
    tried = true
    return next({ type: 'publickey', username: user, key: privateKey })
  }
}

function runIn(channel: ClientChannel, facts: Facts, first: (text: string) => void): void {
  let text = ''
  channel.on('data', (bytes: Buffer) => {
    const began = text === ''
    if (text.length < shownChars) text = (text + bytes.toString()).slice(0, shownChars)
    facts.output = text.trim()
    if (began) first(text.trim())
  })
  channel.stderr.on('data', (bytes: Buffer) => {
    const said = bytes.toString().trim().slice(0, shownChars)
    facts.output ??= said
  })
  channel.on('exit', (code: number | null, signal?: string) => {
    if (code !== null) facts.exitCode = code
    else if (signal !== undefined) facts.exitSignal = signal
  })
}

/** The type is the first string of a key (RFC 4253, 6.6). */
function keyType(key: Buffer): string {
  return key.subarray(4, 4 + key.readUInt32BE(0)).toString('latin1')
}

/** As ssh-keygen prints it. */
function sha256(key: Buffer): string {
  return createHash('sha256').update(key).digest('base64').replace(/=+$/, '')
}
