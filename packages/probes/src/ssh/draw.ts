import { drawWaterfall, type WaterfallBar, type WaterfallRow } from '../svg/waterfall.ts'
import type { SshFirst, SshLogin } from './report.ts'

/** What lies between two steps of a login, in their order; each ends with the step. */
const STEPS = [
  { kind: 'wait', until: 'acceptUs', colour: '#d5dae0', meaning: 'port closed' },
  { kind: 'banner', until: 'bannerUs', colour: '#9aa5b1', meaning: 'to the banner' },
  { kind: 'kex', until: 'kexUs', colour: '#8e5bd0', meaning: 'key exchange' },
  { kind: 'auth', until: 'authUs', colour: '#f0a04b', meaning: 'authentication' },
  { kind: 'session', until: 'sessionUs', colour: '#e5484d', meaning: 'session' },
  { kind: 'output', until: 'firstOutputUs', colour: '#3b7dd8', meaning: 'first output' },
] as const
const JOB = { kind: 'job', colour: '#7fb685', meaning: 'job of PID 1' }

/**
 * The waterfall of logins as an SVG document: a row a login with its steps, below each the jobs that PID 1 created meanwhile.
 * Counts from the first dial. Logins without a known time (no mapping of the guest's clock) have a row without bars.
 */
export function drawSshFirst({ logins, user }: SshFirst): string {
  const firstUs = Math.min(...logins.map(({ dialUs, acceptUs }) => dialUs ?? acceptUs ?? Infinity))
  const originUs = Number.isFinite(firstUs) ? firstUs : 0
  const bar = (kind: string, fromUs: number, untilUs: number, title: string): WaterfallBar => ({
    kind,
    startUs: fromUs - originUs,
    endUs: untilUs - originUs,
    title: `${title}, ${((untilUs - fromUs) / 1000).toFixed(3)} ms`,
  })
  return drawWaterfall({
    title: `SSH logins of ${user}, counted from the first attempt`,
    kinds: [...STEPS, JOB],
    rows: logins.flatMap(rows),
    bands: [],
    marks: [],
  })

  function rows(login: SshLogin): WaterfallRow[] {
    const bars: WaterfallBar[] = []
    let fromUs = login.dialUs
    for (const { kind, until, meaning } of STEPS) {
      const untilUs = login[until]
      if (untilUs === undefined) continue
      if (fromUs !== undefined) bars.push(bar(kind, fromUs, untilUs, meaning))
      fromUs = untilUs
    }
    const jobs = (login.jobs ?? []).flatMap(({ unit, installedUs, removedUs = login.closedUs, result }) =>
      installedUs === undefined || removedUs === undefined
        ? []
        : [{ label: unit, bars: [bar(JOB.kind, installedUs, removedUs, `${unit} ${result ?? 'not over'}`)] }],
    )
    return [{ label: `login ${login.n}${login.underLoad ? ' under load' : ''}`, bars }, ...jobs]
  }
}
