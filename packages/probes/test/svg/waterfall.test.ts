import { describe, expect, it } from 'vitest'
import { drawJobs, drawSshFirst, drawWaits, waits } from '../../src/index.ts'
import { drawWaterfall, type Waterfall } from '../../src/svg/waterfall.ts'
import { queueOf, recordedBoot } from '../systemd/jobs/queues.ts'
import { recording } from '../systemd/recordings.ts'

const KINDS = [{ kind: 'work', colour: '#123456', meaning: 'at work' }]

function drawn(changes: Partial<Waterfall>): string {
  return drawWaterfall({ title: 't', rows: [], bands: [], marks: [], kinds: KINDS, ...changes })
}

/** The bars of a drawing: where each begins and how wide it is, in pixels. */
function bars(svg: string): { readonly x: number; readonly width: number; readonly title: string }[] {
  const found = svg.matchAll(/<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"[^>]*><title>([^<]*)</g)
  return [...found].map(([, x, width, title = '']) => ({ x: Number(x), width: Number(width), title }))
}

describe('a waterfall', () => {
  it('has its bars in proportion to their times', () => {
    const bar = (startUs: number, endUs: number, title: string) => ({ kind: 'work', startUs, endUs, title })
    const rows = [{ label: 'a', bars: [bar(0, 100, 'first'), bar(100, 400, 'second')] }]
    const [first, second] = bars(drawn({ rows }))
    expect(second!.width / first!.width).toBeCloseTo(3, 2)
    expect(second!.x).toBeCloseTo(first!.x + first!.width, 1)
  })

  it('shows what took no time too', () => {
    const rows = [{ label: 'a', bars: [{ kind: 'work', startUs: 5, endUs: 5, title: 'instant' }] }]
    expect(bars(drawn({ rows }))[0]!.width).toBeGreaterThan(0)
  })

  it('takes names as text, whatever is in them', () => {
    const label = '<script>&"\u001b[31m\n'
    const svg = drawn({ title: label, rows: [{ label, bars: [{ kind: 'work', startUs: 0, endUs: 1, title: label }] }] })
    expect(svg).not.toContain('<script>')
    expect(svg).not.toContain('\u001b')
    expect(svg).toContain('&lt;script&gt;&amp;&quot;')
  })

  it('is drawn of nothing as well', () => {
    expect(drawn({})).toMatch(/^<svg [^]*<\/svg>\n$/)
    expect(drawn({})).not.toMatch(/NaN|Infinity|undefined/)
  })
})

describe('the waterfall of a recorded boot', () => {
  const report = waits(recording('b12x-nasty'))
  if (!report.found) throw new Error(report.message)
  const svg = drawWaits(report)

  it('has a bar for each part of the path, each idle gap and each unit behind the target', () => {
    expect(bars(svg)).toHaveLength(report.parts.length + report.idleGaps.length + report.behind.length)
  })

  it('has the longest bar of the path at the unit that took longest', () => {
    const onPath = bars(svg).filter(({ title }) => title.includes(': activating'))
    const longest = onPath.reduce((a, b) => (b.width > a.width ? b : a))
    expect(longest.title).toBe('n-long.service: activating, 6663.473 ms from 5225.657 ms on')
  })

  it('is well-formed: every element that is opened is closed', () => {
    const open: string[] = []
    const crossed: string[] = []
    for (const [, close, name = '', self] of svg.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
      if (close === '' && self === '') open.push(name)
      if (close === '/' && open.pop() !== name) crossed.push(name)
    }
    expect({ open, crossed }).toEqual({ open: [], crossed: [] })
  })
})

describe('the waterfall of a recorded queue', () => {
  const report = queueOf(recordedBoot('b12x-nasty'))
  const found = bars(drawJobs(report))

  it('has each job running once, and those that failed as failed', () => {
    const failed = found.filter(({ title }) => / (?:failed|assert|dependency|timeout), /.test(title))
    expect(failed).toHaveLength(report.failed.length)
    expect(found.filter(({ title }) => !/ waiting, |reloading/.test(title))).toHaveLength(report.jobs.length)
  })

  it('has a job waiting until PID 1 ran it, from the moment that the recorder connected', () => {
    const waiting = found.find(({ title }) => title.startsWith('multi-user.target waiting'))
    const job = report.jobs.find(({ unit }) => unit === 'multi-user.target')
    const ms = (((job?.releasedUs ?? 0) - (report.connectedUs ?? 0)) / 1000).toFixed(3)
    expect(waiting?.title).toContain(`waiting, ${ms} ms from `)
  })
})

describe('the waterfall of logins', () => {
  const at = { acceptUs: 5_010_000, bannerUs: 5_020_000, kexUs: 5_050_000, authUs: 5_060_000, sessionUs: 5_500_000 }
  const login = { n: 1, dialUs: 5_000_000, ...at, firstOutputUs: 5_510_000, closedUs: 5_520_000, afterAcceptUs: {} }
  const jobs = [{ id: 1, unit: 'user@0.service', installedUs: 5_100_000, removedUs: 5_400_000, result: 'done' }]
  const result = { user: 'root', logins: [{ ...login, jobs }] } as unknown as Parameters<typeof drawSshFirst>[0]

  it('has the steps of each login behind one another, and its jobs below', () => {
    const titles = bars(drawSshFirst(result)).map(({ title }) => title)
    expect(titles).toEqual([
      'port closed, 10.000 ms',
      'to the banner, 10.000 ms',
      'key exchange, 30.000 ms',
      'authentication, 10.000 ms',
      'session, 440.000 ms',
      'first output, 10.000 ms',
      'user@0.service done, 300.000 ms',
    ])
  })

  it('has no bar for what is not known', () => {
    const unknown = { user: 'root', logins: [{ n: 1, afterAcceptUs: {} }] } as unknown as typeof result
    expect(bars(drawSshFirst(unknown))).toEqual([])
    expect(drawSshFirst(unknown)).not.toMatch(/NaN|Infinity/)
  })
})
