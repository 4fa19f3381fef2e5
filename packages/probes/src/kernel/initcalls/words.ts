import { asDisplayText } from '../terminal.ts'
import { exactMs } from '../../text/milliseconds.ts'
import type { Initcall, Probe } from './initcalls-report.ts'

/** The call for a person: its name, its module, and which one it is where the name repeats. */
export function callName({ name, module, occurrence }: Pick<Initcall, 'name' | 'module' | 'occurrence'>): string {
  const of = module === undefined ? '' : ` [${module}]`
  return asDisplayText(`${name}${of}${occurrence === 1 ? '' : ` #${occurrence}`}`)
}

/** How long, in ms; `~` before what is a whole number of ticks, or known within more than 1 ms only. */
export function durationText({ durationUs, quantised, errorUs = 0, unknown }: Initcall): string {
  if (durationUs === undefined) return unknown ?? '-'
  return `${quantised === true || errorUs > 1000 ? '~' : ''}${exactMs(durationUs)}`
}

/** A probe as a line below its call. */
export function probeText({
  device,
  driver,
  returned,
  outcome,
  attempt,
  asynchronous,
  quantised,
  durationUs,
}: Probe): string {
  const facts = [
    ...(driver === undefined ? [] : [driver]),
    outcome === undefined ? `returned ${returned}` : outcome === 'bound' ? '' : `${outcome} with ${returned}`,
    attempt === 1 ? '' : `attempt ${attempt}`,
    asynchronous ? 'asynchronous' : '',
  ].filter((fact) => fact !== '')
  return asDisplayText(
    `${quantised ? '~' : ''}${exactMs(durationUs)} probe of ${device}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`,
  )
}

/** A count with its noun. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
