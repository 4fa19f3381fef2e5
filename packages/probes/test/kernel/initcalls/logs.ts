import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { type Initcall, initcalls, type InitcallsOptions, type InitcallsReport } from '../../../src/index.ts'

/** The kernels of the recorded logs. */
export const KERNELS = ['6.1', '6.12', '7.2'] as const

/** A recorded log, as the serial console had it. */
export function recorded(kernel: (typeof KERNELS)[number]): Buffer {
  return gunzipSync(readFileSync(new URL(`./fixtures/linux-${kernel}.log.gz`, import.meta.url)))
}

/** The report of a log that has one; a refusal fails the test with its sentence. */
export function reportOf(log: Uint8Array | string, options: InitcallsOptions = {}): InitcallsReport {
  const result = initcalls(log, options)
  if (!result.found) throw new Error(`no initcalls: ${result.message}`)
  return result
}

/** The only call of this name, or the one that is asked for. */
export function callOf({ calls }: InitcallsReport, name: string, occurrence = 1): Initcall {
  const call = calls.find((one) => one.name === name && one.occurrence === occurrence)
  if (call === undefined) throw new Error(`there is no call ${name} #${occurrence}`)
  return call
}

/** A kernel's stamp. */
export function at(us: number): string {
  return `[${String(Math.floor(us / 1e6)).padStart(5)}.${String(us % 1e6).padStart(6, '0')}] `
}

/** The first line of a kernel's log. */
export function linux(version: string): string {
  return `${at(0)}Linux version ${version} (maker@example) #1 SMP\n`
}

/** Both lines of a call. */
export function pair(
  name: string,
  fromUs: number,
  toUs: number,
  usecs: number,
  { returned = 0, pid = 1, module = '' } = {},
): string {
  const of = module === '' ? '' : ` [${module}]`
  return `${at(fromUs)}calling  ${name}+0x0/0x40${of} @ ${pid}\n${at(toUs)}initcall ${name}+0x0/0x40${of} returned ${returned} after ${usecs} usecs\n`
}

/** The kernel leaves jiffies. */
export function switched(us: number): string {
  return `${at(us)}clocksource: Switched to clocksource tsc\n`
}
