import type { MarkLine } from '../timeline/record.ts'
import { USER_MARK_PREFIX } from '../timeline/vocabulary.ts'
import type { StatsSample } from './stats.ts'

/** From one sample to another. Without `from` it begins where all counters are 0: at the start of the VM. */
export interface Span {
  readonly name: string
  readonly from?: StatsSample
  readonly to: StatsSample
  /** The mark that ends it, where there is one, and when that was (host clock, ns). */
  readonly toMark?: string
  readonly toMarkNs?: number
}

/** What is to be said about spans that could not be made. */
export interface SpanFinding {
  readonly name: 'not-told-apart' | 'open-phase'
  readonly message: string
}

export interface Spans {
  readonly spans: readonly Span[]
  readonly findings: readonly SpanFinding[]
}

/** The phase that begins at a mark. Other marks begin none; those of the user begin one of their own name. */
const PHASE_FROM: { readonly [mark: string]: string } = {
  'kernel-first-line': 'kernel',
  'init-run': 'initrd',
  'switch-root': 'userspace',
  'agent-ready': 'userspace',
  ready: 'idle',
  'first-login-begin': 'first login',
  'first-login-end': 'idle',
  'stop-begin': '',
}

/**
 * The phases between samples. Those of a record end at marks: firmware, kernel, initrd, userspace (until the box is ready),
 * idle, and one from each of the user's marks on. With a first login, that is a phase, and what is between `ready` and it is
 * `before login`. Samples without marks have one each, named after the sample that ends it.
 */
export function spansOf(samples: readonly StatsSample[], marks: readonly MarkLine[]): Spans {
  return samples.some((one) => one.marks.length > 0) ? betweenMarks(samples, marks) : betweenSamples(samples)
}

function betweenSamples(samples: readonly StatsSample[]): Spans {
  const last = new Map<string, StatsSample>()
  const spans: Span[] = []
  for (const to of samples) {
    const from = last.get(to.vmId ?? '')
    spans.push({ name: to.label, to, ...(from && { from }) })
    last.set(to.vmId ?? '', to)
  }
  return { spans, findings: [] }
}

function betweenMarks(samples: readonly StatsSample[], lines: readonly MarkLine[]): Spans {
  const atNs = new Map<string, number>()
  for (const { mark, clock, atNs: at } of lines) if (clock === 'host' && !atNs.has(mark)) atNs.set(mark, at)
  const boundaryOf = boundaries(samples, atNs)
  const logsIn = samples.some((one) => one.marks.includes('first-login-begin'))
  const inTime = samples.filter((one) => one.marks.length > 0).toSorted((a, b) => (a.atNs ?? 0) - (b.atNs ?? 0))
  const spans: Span[] = []
  const findings: SpanFinding[] = []
  const seen = new Set<string>()
  let name: string | undefined = 'firmware'
  let from: StatsSample | undefined
  for (const to of inTime) {
    const here = [...new Set(to.marks.flatMap((mark) => boundaryOf(mark) ?? []))].filter((mark) => !seen.has(mark))
    const [first, last] = [here[0], here.at(-1)]
    if (first === undefined || last === undefined || name === undefined) continue
    for (const mark of here) seen.add(mark)
    const toMarkNs = atNs.get(first)
    spans.push({ name, to, ...(from && { from }), toMark: first, ...(toMarkNs !== undefined && { toMarkNs }) })
    const lost = here.slice(0, -1).map((mark) => phaseFrom(mark, logsIn))
    if (lost.length > 0) {
      const message = `${lost.join(', ')} ended before its beginning was sampled: its exits count to ${name}`
      findings.push({ name: 'not-told-apart', message })
    }
    name = phaseFrom(last, logsIn) || undefined
    from = to
  }
  const now = samples.at(-1)
  // Somebody asked in the middle of a phase.
  if (name !== undefined && now && now.marks.length === 0 && (now.atNs ?? 0) > (from?.atNs ?? 0)) {
    spans.push({ name, to: { ...now, label: 'now' }, ...(from && { from }) })
  } else if (name !== undefined) {
    const last = inTime.at(-1)
    // What is known of a boot that never came to its first boundary is all there is.
    if (spans.length === 0 && last) spans.push({ name, to: last })
    const message = `${name} has no end that was sampled (the box was killed, or still runs)`
    findings.push({ name: 'open-phase', message })
  }
  return { spans, findings }
}

function phaseFrom(mark: string, logsIn: boolean): string {
  return mark === 'ready' && logsIn ? 'before login' : (PHASE_FROM[mark] ?? mark)
}

/** Which boundary a mark is. `ready` of a box is often another mark's instant: then both are one boundary. */
function boundaries(
  samples: readonly StatsSample[],
  atNs: ReadonlyMap<string, number>,
): (mark: string) => string | undefined {
  const sampled = new Set(samples.flatMap(({ marks }) => marks))
  const readyNs = atNs.get('ready')
  const readyAtStart =
    (readyNs !== undefined && readyNs === atNs.get('vm-start')) ||
    samples.some(({ marks }) => marks.includes('ready') && marks.includes('vm-start'))
  return (mark) => {
    // The machine runs, and that is all that such a box is waited for.
    if (mark === 'ready' && readyAtStart) return undefined
    // An image's agent answers somewhere in the initrd or after it.
    if (mark === 'agent-ready' && sampled.has('switch-root')) return undefined
    if (!(mark in PHASE_FROM) && !mark.startsWith(USER_MARK_PREFIX)) return undefined
    const same = readyNs !== undefined && readyNs === atNs.get(mark) && sampled.has('ready')
    return same ? 'ready' : mark
  }
}
