import { dirname } from 'node:path'
import { BoxError, type DetailChanges, type FailureSubject, type Machine } from '@boxlab/native'
import { type Cause, type CauseId, likelyCauses } from '@boxlab/probes'
import type { BoxOptions } from '../options.ts'
import { bootFacts } from './boot-facts.ts'
import { consoleEnd } from './console-end.ts'
import { linesAround } from './excerpt.ts'
import { architectures, failureTime, hostFacts, kvmFacts, logOf, times } from './gather.ts'
import type { HostBefore } from './host-memory.ts'
import { reachedBy } from './reached.ts'

/** What failed, and what its error does not know. */
export interface FailedCall {
  /** `boot` also stands for what comes before the engine; `command` is one exec, transfer or connection. */
  readonly doing: 'boot' | 'wait' | 'command'
  /** The handle of the box; absent where it failed before there was one. */
  readonly machine?: Pick<Machine, 'marks' | 'bootFile' | 'consoleTail' | 'pid'> | undefined
  /** The folder of its record. */
  readonly record?: string | undefined
  readonly options?: BoxOptions | undefined
  /** `hostBefore()` from before the boot: without it no rule about the host's memory can match. */
  readonly host?: HostBefore | undefined
  /** When the call began, `process.hrtime.bigint()`: what the console said before is not what a command died of. */
  readonly beganNs?: bigint | undefined
  /** Something with a stack from where the caller called: the error's stack then begins there. */
  readonly calledFrom?: { readonly stack?: string } | undefined
}

/**
 * Makes the error of a failed boot, wait or command tell what it can: the stage, the last marks, the likely cause, the
 * reproducing command. Gives the same error with more in it; what is no `BoxError` becomes the `cause` of one. Refusals
 * of a call (`ERR_BOX_OPTIONS`, `ERR_BOX_STATE`) stay as they are. Never throws, and takes a few milliseconds: for a
 * likely cause at most 512 KiB of the console are read.
 */
export async function explainFailure(thrown: unknown, call: FailedCall): Promise<unknown> {
  if (!(thrown instanceof Error)) return thrown
  try {
    const error = thrown instanceof BoxError ? thrown : asBoxError(thrown)
    if (error.code === 'ERR_BOX_OPTIONS' || error.code === 'ERR_BOX_STATE') return error
    const about = subjectOf(error, call)
    const details = about === 'command' ? ofCommand(error, call) : await ofBox(error, call)
    error.explain(details, about)
    startStackAt(error, call.calledFrom?.stack)
    return error
  } catch {
    // Whatever goes wrong here is less than what went wrong there.
    return thrown
  }
}

/** An error of the images area keeps its code; one without, such as a system error, came up while planning. */
function asBoxError(thrown: Error): BoxError {
  const { code } = thrown as { readonly code?: unknown }
  const ours = typeof code === 'string' && /^ERR_(?:BOX|IMAGE)_/.test(code)
  return new BoxError(ours ? code : 'ERR_BOX_PLAN', thrown.message, {}, { cause: thrown })
}

// A box that these happened to goes on.
const commandCodes = new Set(['ERR_BOX_REFUSED', 'ERR_BOX_HOST_FILE', 'ERR_BOX_TIMEOUT', 'ERR_BOX_ABORTED'])

function subjectOf({ code }: BoxError, { doing }: FailedCall): FailureSubject {
  if (doing !== 'command') return 'box'
  return commandCodes.has(code) || code.startsWith('ERR_BOX_EXEC_') ? 'command' : 'box'
}

// Of a command that was cut short or refused, these can be the reason.
const commandCauses = new Set<CauseId>(['guest-oom', 'guest-panic', 'guest-oops', 'disk-full', 'wrong-architecture'])
const outOfMemory = 12

/** The boot's console is not the point here, unless the guest's kernel complained while the command ran. */
function ofCommand(error: BoxError, { record, beganNs, options }: FailedCall): DetailChanges {
  const { code, errno, summary } = error
  // What a refused system call says for itself is the reason, except that a guest without memory has one of its own.
  const looks = record !== undefined && beganNs !== undefined && (errno === undefined || errno === outOfMemory)
  const console = looks ? consoleEnd(record, Number(beganNs))?.bytes : undefined
  const facts = { code, message: summary, ...(errno !== undefined && { errno }), ...(console && { console }) }
  const cause = likelyCauses(facts).find(({ id }) => commandCauses.has(id))
  const line = cause?.evidence.line
  return {
    ...causeDetails(cause),
    // The sentence has said that.
    ...(cause?.evidence.source === 'fact' && { evidence: undefined }),
    record: recordOf(error, record, options),
    consoleTail: console && line !== undefined ? linesAround(console, line) : undefined,
  }
}

async function ofBox(error: BoxError, call: FailedCall): Promise<DetailChanges> {
  const { machine, options } = call
  const file = bootFacts(machine?.bootFile())
  const record = call.record ?? error.record
  const marks = machine?.marks() ?? []
  const failedNs = failureTime(error, marks)
  const reached = reachedBy(marks, failedNs, file.kind)
  const console = record === undefined ? undefined : consoleEnd(record)
  const accelerator = { asked: file.asked ?? options?.accel ?? 'auto', ...(file.proved && { proved: file.proved }) }
  const memoryMib = file.memoryMib ?? options?.memoryMib
  const [cause] = likelyCauses({
    ...error.details(),
    code: error.code,
    message: error.summary,
    accelerator,
    ...(memoryMib !== undefined && { memoryMib }),
    firmware: file.kind === 'firmware',
    ...times(reached, marks, failedNs, console),
    ...(console && { console: console.bytes }),
    ...logOf(record),
    ...(await kvmFacts(error, accelerator, file.kvmPath)),
    ...architectures(error, call, file),
    ...hostFacts(error, call, file),
  })
  return {
    ...reached,
    ...causeDetails(cause),
    ...(file.reproduce !== undefined && { reproduce: file.reproduce }),
    record: recordOf(error, record, options),
    consoleTail: shownConsole(error.consoleTail || machine?.consoleTail() || undefined, cause, console?.bytes),
  }
}

/** A record that is not kept is named nowhere. */
function recordOf(error: BoxError, record: string | undefined, options: BoxOptions | undefined): string | undefined {
  return options?.record?.keep === 'never' ? undefined : (record ?? error.record)
}

/** The end of the console, unless the line that the cause rests on is further up, as before a long trace. */
function shownConsole(
  tail: string | undefined,
  cause: Cause | undefined,
  console: Uint8Array | undefined,
): string | undefined {
  const { source, line, text } = cause?.evidence ?? {}
  if (source !== 'console' || line === undefined || text === undefined || console === undefined) return tail
  return tail?.includes(text) ? tail : linesAround(console, line)
}

function causeDetails(cause: Cause | undefined): DetailChanges {
  if (cause === undefined) return {}
  const { id, sentence, remedy, evidence, confidence } = cause
  // What somebody said stands in the cause's sentence or can be found; what was inferred rests on a fact that is shown.
  const shown = evidence.source !== 'message' && (evidence.source !== 'fact' || confidence === 'inferred')
  return { likelyCause: `${sentence} ${remedy}`, causeId: id, ...(shown && { evidence: evidence.text }) }
}

/** A runner shows the first frame of a stack: the caller's line tells more than ours. Ours stay below. */
function startStackAt(error: Error, callerStack: string | undefined): void {
  const frames = framesOf(callerStack)
  const caller = frames.findIndex((frame) => !frame.includes(ours))
  if (caller < 0) return
  error.stack = [`${error.name}: ${error.message}`, ...frames.slice(caller), ...framesOf(error.stack)].join('\n')
}

// The sources or what was built of them, as frames of a stack name them.
const ours = dirname(import.meta.dirname)

function framesOf(stack: string | undefined): string[] {
  return (stack ?? '').split('\n').filter((line) => /^ {4}at /.test(line))
}
