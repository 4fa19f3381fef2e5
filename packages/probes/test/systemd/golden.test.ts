import { describe, expect, it } from 'vitest'
import { type PathPart, readSystemd, waitsOf } from '../../src/index.ts'
import { episodesOf } from '../../src/systemd/waits/episode.ts'
import { bootGraph, releaserOf } from '../../src/systemd/waits/predecessors.ts'
import { GOLDEN, type GoldenSegment, recording, reportOf } from './recordings.ts'

// The names of golden.json for what the parts are called here.
const PHASES: { readonly [name: string]: readonly string[] } = {
  start: ['start'],
  security: ['security'],
  setup: ['setup', 'gen->load'],
  generators: ['generators'],
  'units-load': ['load'],
  dispatch: ['dispatch'],
}

/** A part as golden.json writes it, with the phase name it has there. */
function asGolden(part: PathPart, golden: GoldenSegment | undefined): GoldenSegment {
  const kind =
    part.kind !== 'phase' ? part.kind : PHASES[part.name]?.includes(golden?.[2] ?? '') ? (golden?.[2] ?? '') : part.name
  const unit =
    part.kind === 'gap'
      ? `${part.unit} -> ${part.endedBy}`
      : part.kind === 'phase'
        ? (part.endedBy ?? 'PID 1')
        : part.unit
  return [part.startUs, part.endUs, kind, unit]
}

describe.each(Object.entries(GOLDEN))('%s', (boot, golden) => {
  const inputs = recording(boot)

  it.each(Object.entries(golden.paths))('has the golden path to %s, segment by segment', (target, path) => {
    const report = reportOf(inputs, { target })
    expect(report.parts.map((part, index) => asGolden(part, path.segments[index]))).toEqual(path.segments)
    expect(report.path.map(({ unit }) => unit)).toEqual(path.units)
    expect(report.totalUs).toBe(path.totalUs)
    expect(report.ties).toEqual([])
    const reasons: { readonly [reason: string]: string } = {
      restarted: 'restarted: only its last start is known',
      'ended-later': 'ended after the unit was run',
    }
    expect(
      report.notWaitedFor
        .filter(({ reason }) => reason in reasons)
        .map(({ unit, after, reason }) => ({ unit, after, why: reasons[reason] })),
    ).toEqual(path.notWaitedFor)
  })

  it('has the golden idle gaps', () => {
    const gaps = reportOf(inputs).idleGaps.map(
      ({ startUs, endUs, openedBy, closedBy }) => [startUs, endUs, endUs - startUs, openedBy, closedBy] as const,
    )
    expect(gaps.length).toBe(golden.gapsToMultiUser.count)
    expect(gaps.reduce((sum, [, , length]) => sum + length, 0)).toBe(golden.gapsToMultiUser.sumUs)
    expect(gaps.filter(([, , length]) => length >= 5000)).toEqual(golden.gapsToMultiUser.over5ms)
  })

  it('has what the golden figures have behind multi-user.target and behind the prompt', () => {
    const rows = reportOf(inputs).behind.map(({ startUs, endUs, unit }) => [startUs, endUs ?? null, unit])
    expect(rows).toEqual(golden.behindMultiUser)
    const states = { running: 'running at the prompt', later: 'started later' }
    const behindPrompt = reportOf(inputs, { target: 'login' }).behind
    expect(
      behindPrompt.map(({ startUs, endUs, unit, state }) => [startUs, endUs ?? null, unit, states[state]]),
    ).toEqual(golden.behindPrompt)
  })

  it('has the golden login prompt', () => {
    const { gettyActiveUs, gettyForkUs, idleEndedBy, promptNotBeforeUs } = golden.prompt
    const report = reportOf(inputs, { target: 'login' })
    expect(report.prompt).toEqual({
      unit: 'serial-getty@ttyS0.service',
      activeUs: gettyActiveUs,
      forkUs: gettyForkUs,
      promptUs: promptNotBeforeUs,
      from: 'not-before',
      endedBy: idleEndedBy,
    })
    expect(report.totalUs).toBe(promptNotBeforeUs)
    expect(report.parts.at(-1)).toEqual({
      kind: 'idle',
      unit: 'serial-getty@ttyS0.service',
      startUs: gettyActiveUs,
      endUs: promptNotBeforeUs,
      endedBy: idleEndedBy,
    })
    expect(report.findings.map(({ name }) => name)).toEqual(['prompt-not-before'])
  })

  it('has the golden predecessor of every unit with a job', () => {
    const { state } = readSystemd(inputs)
    if (state === undefined) throw new Error('the recording has no units')
    expect(state.units.size).toBe(golden.units.showAll)
    const graph = bootGraph(state, episodesOf(state))
    const withJob = [...graph.episodes.values()].filter(({ hadJob }) => hadJob)
    const released = Object.fromEntries(
      withJob.map((episode) => [episode.unit.id, releaserOf(graph, episode)?.episode.unit.id ?? null]),
    )
    expect(released).toEqual(golden.releasedBy)
  })
})

describe('every unit of every recording', () => {
  it.each([...Object.keys(GOLDEN), 't13-rec'])('%s: has parts that touch and sum to the span', (boot) => {
    const reading = readSystemd(recording(boot))
    const results = [...(reading.state?.units.keys() ?? [])].flatMap((target) =>
      [false, true].map((fromKernel) => waitsOf(reading, { target, fromKernel })),
    )
    const reports = results.filter((result) => result.found)
    expect(reports.length).toBeGreaterThan(160)
    for (const { parts, totalUs, originUs, targetUs } of reports) {
      expect(parts.reduce((sum, { startUs, endUs }) => sum + endUs - startUs, 0)).toBe(totalUs)
      expect(totalUs).toBe(targetUs - originUs)
      expect(parts.slice(1).map(({ startUs }) => startUs)).toEqual(parts.slice(0, -1).map(({ endUs }) => endUs))
      expect(parts[0]?.startUs ?? 0).toBe(0)
    }
  })
})

describe('systemd 257', () => {
  it('has the prompt from the exec itself, 2.6 s behind getty’s ActiveEnter', () => {
    const { prompt, originUs, findings } = reportOf(recording('t13-rec'), { target: 'login' })
    expect(prompt).toMatchObject({ from: 'handoff', unit: 'serial-getty@ttyS0.service', endedBy: 'queue drained' })
    expect(Math.round(((prompt?.activeUs ?? 0) + originUs) / 1000)).toBe(27_351)
    expect(Math.round(((prompt?.promptUs ?? 0) + originUs) / 1000)).toBe(29_955)
    expect(findings).toEqual([])
  })
})
