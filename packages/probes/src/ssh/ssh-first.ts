import type { ByteInput } from '../input/byte-input.ts'
import type { Diagnostic } from '../input/diagnostics.ts'
import { type ClockMapping, mapClock, PRINTK_SKEW_NS, toGuest } from '../timeline/clock.ts'
import { readBoot } from '../timeline/read-boot.ts'
import { readClock, readMarks } from '../timeline/tokenize.ts'
import { callsOf, type RecordedLogin, type SshCall } from './calls.ts'
import { explainRefusal } from './refusal.ts'
import type { JobsHole, SshFinding, SshFirst, SshFirstResult, SshJob, SshLogin, SshRefused } from './report.ts'
import { readSsh, SSH_EVENTS, SSH_FILE, type SshEvent } from './ssh-lines.ts'

/** The files of a record that tell of logins, as bytes or text; what the record does not have is left out. */
export interface SshFirstInput {
  /** `guest/ssh.jsonl` */
  readonly ssh: ByteInput
  /** `guest/clock.jsonl`: more exchanges of clocks than the logins have themselves. */
  readonly clock?: ByteInput
  /** `marks.jsonl`: maps the guest's clock where there was no exchange. */
  readonly marks?: ByteInput
  /** `boot.json`: the accelerator. */
  readonly boot?: Uint8Array | string
  /** The jobs of a recording of PID 1's queue, such as `jobs()` gives them. */
  readonly jobs?: readonly SshJob[]
  /** Times of which that recording tells nothing. */
  readonly holes?: readonly JobsHole[]
  /** Which of the calls in the file, from 1; default the first, which has the boot's first login. */
  readonly call?: number
}

/** When somebody can log in, from a record's files. Never throws on what they hold; without an answer it says why. */
export function sshFirst(input: SshFirstInput): SshFirstResult {
  const lines = readSsh(input.ssh)
  const samples = readClock(input.clock ?? '')
  const marks = readMarks(input.marks ?? '')
  const diagnostics: Diagnostic[] = [...lines.diagnostics, ...samples.diagnostics]
  const calls = callsOf(lines.items)
  const number = input.call ?? 1
  const call = calls[number - 1]
  if (call === undefined) return { found: false, message: noCall(number, calls.length), diagnostics }
  const clock = mapClock([...samples.items, ...call.clock], marks.items)
  const { accelerator } = readBoot(input.boot ?? '{}').boot
  const logins = call.logins.map((login) => loginOf(login, clock, input))
  const refused = refusedOf(call)
  const errorUs = worstErrorUs(call, clock)
  return {
    found: true,
    transport: call.head.transport,
    user: call.head.user,
    port: call.head.port,
    origin: 'kernel-start',
    ...(errorUs !== undefined && { errorUs }),
    ...(accelerator?.proved !== undefined && { accelerator: accelerator.proved }),
    logins,
    ...(refused && { refused }),
    call: number,
    calls: calls.length,
    clock: clockFacts(clock),
    findings: findingsOf(call, logins, clock, input),
    diagnostics,
  }
}

function noCall(number: number, calls: number): string {
  if (calls > 0) return `there is no call ${number} of \`sshFirst\` in ${SSH_FILE}, which has ${calls}`
  return `there is no login in ${SSH_FILE}: call \`box.sshFirst()\` on a box whose record is kept`
}

function clockFacts(clock: ClockMapping): SshFirst['clock'] {
  if (clock.state !== 'mapped') return clock
  const { state, basis, clock: which, rate, rateError, anchors } = clock
  return { state, basis, clock: which, rate, rateError, anchors }
}

/** An instant of the host's in us after kernel start; absent where the guest's clock is not known. */
function guestUs(hostNs: number | undefined, clock: ClockMapping): number | undefined {
  return hostNs === undefined || clock.state !== 'mapped' ? undefined : Math.round(toGuest(clock, hostNs).atNs / 1000)
}

function loginOf(login: RecordedLogin, clock: ClockMapping, queue: Queue): SshLogin {
  const { n, events } = login
  const at = (event: SshEvent): number | undefined => events.get(event)?.atNs
  const accept = events.get('accept')
  const kex = events.get('kex')
  const times = {
    dialUs: guestUs(at('dial'), clock),
    acceptUs: guestUs(at('accept'), clock),
    bannerUs: guestUs(at('banner'), clock),
    kexUs: guestUs(at('kex'), clock),
    authUs: guestUs(at('auth'), clock),
    sessionUs: guestUs(at('session'), clock),
    firstOutputUs: guestUs(at('first-output'), clock),
    closedUs: guestUs(at('closed'), clock),
    refusedUs: guestUs(accept?.refusedAtNs, clock),
  }
  const afterAccept = SSH_EVENTS.slice(2).flatMap((event) => {
    const [from, to] = [at('accept'), at(event)]
    return from === undefined || to === undefined ? [] : [[event, Math.round((to - from) / 1000)] as const]
  })
  const afterAcceptUs: SshLogin['afterAcceptUs'] = Object.fromEntries(afterAccept)
  const took = afterAcceptUs['first-output']
  const [server, output, busyCpus] = [
    events.get('banner')?.text,
    events.get('first-output')?.text,
    events.get('dial')?.busyCpus,
  ]
  const setOff = jobsOf(queue, login, clock)
  return {
    n,
    ...known(times),
    ...(took !== undefined && { tookUs: took }),
    afterAcceptUs,
    ...(accept?.attempts !== undefined && { attempts: accept.attempts, acceptedAtOnce: accept.attempts === 1 }),
    ...(server !== undefined && { server }),
    ...(kex?.hostKey !== undefined &&
      kex.fingerprint !== undefined && { hostKey: { type: kex.hostKey, fingerprint: kex.fingerprint } }),
    ...(kex?.method !== undefined && { keyExchange: kex.method }),
    ...(output !== undefined && { output }),
    ...(busyCpus !== undefined && { underLoad: { cpus: busyCpus } }),
    ...(setOff && { jobs: setOff }),
  }
}

/** Only what is known. */
function known<T extends Record<string, number | undefined>>(times: T): { [name in keyof T]?: number } {
  return Object.fromEntries(Object.entries(times).filter(([, time]) => time !== undefined)) as {
    [name in keyof T]?: number
  }
}

type Queue = Pick<SshFirstInput, 'jobs' | 'holes'>

/** From accept to close in us after kernel start, give or take the clock's error. */
function spanOf(
  { events, refusedNs }: RecordedLogin,
  clock: ClockMapping,
): { readonly begin: number; readonly end: number } | undefined {
  const accept = events.get('accept')?.atNs
  if (clock.state !== 'mapped' || accept === undefined) return undefined
  // A login that was refused or cut off has no close: that, or its last sign, stands for it.
  const last = events.get('closed')?.atNs ?? refusedNs ?? Math.max(...[...events.values()].map(({ atNs }) => atNs))
  const [from, to] = [toGuest(clock, accept), toGuest(clock, last)]
  return { begin: (from.atNs - from.errorNs) / 1000, end: (to.atNs + to.errorNs) / 1000 }
}

/** The jobs that were created in a login. Without its times, or in a hole of the recording, none is known. */
function jobsOf({ jobs, holes = [] }: Queue, login: RecordedLogin, clock: ClockMapping): readonly SshJob[] | undefined {
  const span = spanOf(login, clock)
  if (jobs === undefined || span === undefined) return undefined
  const { begin, end } = span
  if (holes.some(({ startUs, endUs = Number.POSITIVE_INFINITY }) => startUs <= end && endUs >= begin)) return undefined
  return jobs
    .filter(({ installedUs }) => installedUs !== undefined && installedUs >= begin && installedUs <= end)
    .toSorted((a, b) => (a.installedUs ?? 0) - (b.installedUs ?? 0) || a.id - b.id)
    .map(plainJob)
}

/** A job with no more than is told of it here. JobNew has no type (org.freedesktop.systemd1(5)), so it may be unknown. */
function plainJob({ id, unit, type, installedUs, removedUs, result }: SshJob): SshJob {
  return {
    id,
    unit,
    ...(type !== undefined && type !== 'unknown' && { type }),
    ...(installedUs !== undefined && { installedUs }),
    ...(removedUs !== undefined && { removedUs }),
    ...(result !== undefined && { result }),
  }
}

function worstErrorUs({ logins }: SshCall, clock: ClockMapping): number | undefined {
  if (clock.state !== 'mapped') return undefined
  const errors = logins.flatMap(({ events }) => [...events.values()].map(({ atNs }) => toGuest(clock, atNs).errorNs))
  if (errors.length === 0) return undefined
  const skew = clock.clock === 'printk' ? PRINTK_SKEW_NS : 0
  return Math.ceil((Math.max(...errors) + skew) / 1000)
}

function refusedOf({ head, logins, refused }: SshCall): SshRefused | undefined {
  if (refused === undefined) return undefined
  const { login, evidence } = refused
  const at = lastEvent(logins.find(({ n }) => n === login))
  return { login, at, ...explainRefusal({ at, user: head.user, port: head.port, evidence }), evidence }
}

function lastEvent(login: RecordedLogin | undefined): SshEvent {
  return SSH_EVENTS.findLast((event) => login?.events.has(event)) ?? 'dial'
}

function findingsOf(call: SshCall, logins: readonly SshLogin[], clock: ClockMapping, { jobs }: Queue): SshFinding[] {
  const findings: SshFinding[] = []
  if (clock.state !== 'mapped') {
    const message = `when the logins were after kernel start is not known: ${clock.why}`
    findings.push({ name: 'clock-unknown', message })
  }
  if (logins[0]?.acceptedAtOnce === true) {
    const message =
      'the port accepted at the first try, so it was open before: when it accepts is an upper bound; call `sshFirst` while the box boots'
    findings.push({ name: 'accept-is-upper-bound', message })
  }
  for (const { n, events } of call.logins) {
    const times = SSH_EVENTS.flatMap((event) => events.get(event)?.atNs ?? [])
    if (times.some((atNs, index) => atNs < (times[index - 1] ?? 0))) {
      findings.push({
        name: 'out-of-order',
        message: `the marks of login ${n} are not in order: its times mean nothing`,
      })
    }
    if (!events.has('closed') && call.refused?.login !== n) {
      const message = `login ${n} has no end in the record: it was under way when the record ended, or its closing took longer than its bound`
      findings.push({ name: 'not-finished', message })
    }
  }
  const unknown = clock.state === 'mapped' ? logins.filter((login) => login.jobs === undefined) : []
  for (const { n } of jobs === undefined ? [] : unknown) {
    if (logins.find((login) => login.n === n)?.acceptUs === undefined) continue
    const message = `what login ${n} set off is not known: PID 1 was not listened to all the time, since it executed itself again`
    findings.push({ name: 'hole-in-jobs', message })
  }
  if (jobs === undefined) {
    const message =
      'PID 1’s jobs were not recorded in this boot, so what a login set off is not known: boot with `record: { jobs: true }`'
    findings.push({ name: 'no-job-recording', message })
  }
  return findings
}
