import type { ExitsReport } from './exits.ts'
import type { Said } from './read-qmp.ts'
import type { SpanFinding } from './spans.ts'

/** What a reader of the table should know. */
export interface ExitsFinding {
  readonly name:
    | SpanFinding['name']
    | 'rest-holds-io'
    | 'kinds-overlap'
    | 'kicks'
    | 'lag'
    | 'no-sample'
    | 'reasons-untrusted'
    | 'total-differs'
    | 'tables-left-out'
  readonly message: string
}

/** More than this between a mark and its sample is told, in us. */
const LONG_LAG_US = 5000

/** The findings of a report. */
export function findingsOf(report: Omit<ExitsReport, 'findings'>, said: Readonly<Said>): ExitsFinding[] {
  const { absent, phases, sampling, engine } = report
  const findings: ExitsFinding[] = []
  const has = phases.some(({ kinds }) => kinds.rest !== undefined)
  if (has && absent.some(({ name }) => name === 'io_exits')) {
    findings.push({ name: 'rest-holds-io', message: 'exits for ports are not counted apart here: rest holds them' })
  }
  const over = phases.filter(({ kinds }) => kinds.total !== undefined && kinds.rest === undefined)
  if (over.length > 0) {
    const why = 'its kinds are more than its exits, since a signal needs none, and one exit can count as two kinds'
    findings.push({ name: 'kinds-overlap', message: `${over.map(({ name }) => name).join(', ')} has no rest: ${why}` })
  }
  if (sampling.kicks === true) {
    const signals = `up to ${sampling.samples + 1} signal exits of each vCPU are the sampling’s own`
    findings.push({
      name: 'kicks',
      message: `QEMU ${engine ?? 'before 8.1'} interrupts the vCPUs for each answer: ${signals}`,
    })
  }
  for (const { name, to, lagUs } of phases) {
    if (lagUs === undefined || lagUs <= LONG_LAG_US) continue
    const message = `the sample at ${to} came ${(lagUs / 1000).toFixed(1)} ms after its mark: exits of that time count to ${name}`
    findings.push({ name: 'lag', message })
  }
  for (const { mark, why } of said.none) {
    findings.push({
      name: 'no-sample',
      message: `no sample ${mark === undefined ? 'from there on' : `at ${mark}`}: ${why}`,
    })
  }
  return findings
}
