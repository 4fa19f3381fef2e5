import { exactMs } from '../text/milliseconds.ts'
import { diagnosticLine } from '../timeline/captions.ts'
import { page } from '../text/page.ts'
import { table } from '../text/table.ts'
import type { NoSshFirst, SshFirst, SshFirstResult, SshJob, SshLogin } from './report.ts'

/** How logins are drawn. */
export interface SshFirstRenderOptions {
  /** Characters a line of prose may have; rows of the table are never cut. Default 100. */
  readonly width?: number
}

/** The logins as a text table, one column each, for a terminal and a pull request. */
export function renderSshFirst(result: SshFirstResult, { width = 100 }: SshFirstRenderOptions = {}): string {
  const lines = result.found ? reportLines(result) : noneLines(result)
  return page(lines, width)
}

function noneLines({ message, diagnostics }: NoSshFirst): string[] {
  return [message, ...diagnostics.map(diagnosticLine)]
}

function reportLines(result: SshFirst): string[] {
  const { logins, refused, findings, diagnostics } = result
  return [
    headLine(result),
    ...(logins.length === 0 ? [] : ['', ...tableLines(result)]),
    ...triedLines(logins),
    ...jobLines(logins),
    ...(refused === undefined ? [] : ['', `login ${refused.login} was refused (${refused.cause}): ${refused.why}`]),
    ...(findings.length === 0 ? [] : ['', ...findings.map(({ message }) => message)]),
    ...diagnostics.map(diagnosticLine),
  ]
}

const TRANSPORTS: { readonly [transport: string]: string } = { agent: 'through the agent' }

function headLine({ user, port, transport, errorUs, accelerator, call, calls, logins }: SshFirst): string {
  const server = logins.find((login) => login.server !== undefined)?.server
  const parts = [
    `SSH logins of ${user} on port ${port}, ${TRANSPORTS[transport] ?? transport}`,
    ...(server === undefined ? [] : [server]),
    `ms after kernel start${errorUs === undefined ? '' : ` ±${exactMs(errorUs)}`}`,
    accelerator ?? 'accelerator not proved',
    ...(calls === 1 ? [] : [`call ${call} of ${calls}`]),
    'n=1',
  ]
  return parts.join(' · ')
}

const ROWS = [
  ['port accepts', 'acceptUs', undefined],
  ['banner', 'bannerUs', 'banner'],
  ['key exchange', 'kexUs', 'kex'],
  ['authenticated', 'authUs', 'auth'],
  ['session open', 'sessionUs', 'session'],
  ['first output', 'firstOutputUs', 'first-output'],
  ['closed', 'closedUs', 'closed'],
] as const

/** A column of times and one of what came since the accept, for each login. */
function tableLines({ logins }: SshFirst): string[] {
  const rows = [
    ['', ...logins.flatMap((login) => [titleOf(login), 'after accept'])],
    ...ROWS.map(([name, field, step]) => [
      name,
      ...logins.flatMap((login) => [
        timeOf(login[field]),
        step === undefined ? '' : timeOf(login.afterAcceptUs[step], '+'),
      ]),
    ]),
    ...(logins.some(({ jobs }) => jobs !== undefined)
      ? [['jobs', ...logins.flatMap(({ jobs }) => [jobs === undefined ? '-' : String(jobs.length), ''])]]
      : []),
  ]
  return table(rows, [0])
}

function titleOf({ n, underLoad }: SshLogin): string {
  return underLoad === undefined ? `login ${n}` : `login ${n}, ${underLoad.cpus} busy`
}

function timeOf(us: number | undefined, sign = ''): string {
  return us === undefined ? '-' : `${sign}${exactMs(us)}`
}

/** When the port opened, as far as knocking tells: between its last refusal and the accept. */
function triedLines(logins: readonly SshLogin[]): string[] {
  return logins.flatMap(({ n, attempts, refusedUs, acceptUs }) =>
    attempts === undefined || refusedUs === undefined || acceptUs === undefined
      ? []
      : [
          '',
          `login ${n} knocked ${attempts} times: the port refused at ${exactMs(refusedUs)} for the last time, and opened at most ${exactMs(acceptUs - refusedUs)} ms later`,
        ],
  )
}

function jobLines(logins: readonly SshLogin[]): string[] {
  return logins.flatMap(({ n, jobs }) => {
    if (jobs === undefined) return []
    if (jobs.length === 0) return ['', `login ${n}: PID 1 created no job between accept and close`]
    const heading = `  ${'from ms'.padStart(12)}  ${'ms'.padStart(12)}  job`
    return ['', `login ${n}: jobs that PID 1 created between accept and close`, heading, ...jobs.map(jobLine)]
  })
}

function jobLine({ unit, type, result, installedUs, removedUs }: SshJob): string {
  const took = installedUs === undefined || removedUs === undefined ? '-' : exactMs(removedUs - installedUs)
  const words = [unit, ...(type === undefined ? [] : [type]), result ?? 'not finished']
  return `  ${timeOf(installedUs).padStart(12)}  ${took.padStart(12)}  ${words.join(' ')}`
}
