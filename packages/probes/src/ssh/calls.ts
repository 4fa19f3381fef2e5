import type { ClockSample } from '../timeline/record.ts'
import type { SshCallLine, SshEvent, SshEventLine, SshLine, SshRefusedLine } from './ssh-lines.ts'

/** One login as the record has it. */
export interface RecordedLogin {
  readonly n: number
  /** By what became true; of a line that is there twice the first. */
  readonly events: ReadonlyMap<SshEvent, SshEventLine>
  /** When it was refused, on the host's clock. */
  readonly refusedNs?: number
}

/** One call of `sshFirst`. */
export interface SshCall {
  readonly head: SshCallLine
  readonly logins: readonly RecordedLogin[]
  readonly refused?: SshRefusedLine
  readonly clock: readonly ClockSample[]
}

/** The calls in a file, in order. Lines before the first call belong to none and are left out. */
export function callsOf(lines: readonly SshLine[]): SshCall[] {
  const starts = lines.flatMap((line, index) => (line.kind === 'call' ? [index] : []))
  return starts.map((start, index) => callOf(lines.slice(start, starts[index + 1])))
}

function callOf(lines: readonly SshLine[]): SshCall {
  const [head] = lines as readonly [SshCallLine, ...SshLine[]]
  const logins = new Map<number, Map<SshEvent, SshEventLine>>()
  for (const line of lines) {
    if (line.kind !== 'event') continue
    const events = logins.get(line.login) ?? new Map<SshEvent, SshEventLine>()
    logins.set(line.login, events)
    if (!events.has(line.event)) events.set(line.event, line)
  }
  const refused = lines.find((line) => line.kind === 'refused')
  return {
    head,
    logins: [...logins]
      .toSorted(([a], [b]) => a - b)
      .map(([n, events]) => ({ n, events, ...(refused?.login === n && { refusedNs: refused.atNs }) })),
    ...(refused && { refused }),
    clock: lines.filter((line) => line.kind === 'clock'),
  }
}
