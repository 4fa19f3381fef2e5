import { startsBehind } from './behind.ts'
import { blindSpots, type WaitsFinding } from './blind-spots.ts'
import { type Episode, episodesOf } from './episode.ts'
import { idleGaps } from './idle-gaps.ts'
import type { SystemdState } from '../model.ts'
import { criticalPath, type PathPart } from './path.ts'
import { bootGraph } from './predecessors.ts'
import { type LoginPrompt, loginPrompt } from './prompt.ts'
import { readSystemd, type SystemdReading } from '../read/read-systemd.ts'
import { slackTo } from './slack.ts'
import { findTarget } from './target.ts'
import type { NamedInput } from '../../input/byte-input.ts'
import type { NoWaits, WaitsDiagnostics, WaitsOptions, WaitsReport, WaitsResult } from './waits-report.ts'

/**
 * What a boot waited for on the way to a target, from what `systemctl show --all '*'`, `systemctl show` and
 * `systemd-analyze dump` print (systemd 247 to 262), also as a serial console has it. The inputs are recognised by content
 * and their order does not matter. Never throws; without an answer it says why.
 */
export function waits(inputs: readonly NamedInput[], options: WaitsOptions = {}): WaitsResult {
  return waitsOf(readSystemd(inputs), options)
}

/** The same for inputs that were read before, such as for several targets. */
export function waitsOf(
  reading: SystemdReading,
  { target: name = 'multi-user.target', fromKernel = false, console }: WaitsOptions = {},
): WaitsResult {
  const { state } = reading
  const diagnostics = diagnosticsOf(reading)
  const none = (reason: NoWaits['reason'], message: string): NoWaits => ({
    found: false,
    target: name,
    reason,
    message,
    diagnostics,
  })
  if (state === undefined) return none('no-units', reading.why ?? 'nothing of systemd could be read')
  if (state.ofUser)
    return none('not-a-boot', 'this is the manager of a user’s session, which is no boot; ask systemctl without --user')
  const episodes = episodesOf(state)
  const systemds = loginPrompt(state, episodes)
  const prompt = systemds && (console ? { ...systemds, console } : systemds)
  const found = findTarget(name, state, episodes, prompt)
  if ('why' in found) return none('no-target', found.why)
  const episode = episodes.get(found.id)
  if (episode === undefined)
    return none(
      'not-reached',
      `${found.id} was never started: it had no job, or its job was deleted or failed with one that it requires`,
    )
  const { endUs } = episode
  if (endUs === undefined)
    return none('not-reached', `${found.id} was not reached: its start is not over, or it failed`)
  const originUs = fromKernel ? 0 : (state.manager?.times.userspace ?? 0)
  if (endUs < originUs)
    return none(
      'not-reached',
      `${found.id} was up before PID 1 started, in the initrd; count from kernel start (--from-kernel)`,
    )
  return report(reading, state, { ...episode, endUs }, episodes, { name, fromKernel, originUs, prompt, diagnostics })
}

interface Asked {
  readonly name: string
  readonly fromKernel: boolean
  readonly originUs: number
  readonly prompt: LoginPrompt | undefined
  readonly diagnostics: WaitsDiagnostics
}

function report(
  reading: SystemdReading,
  state: SystemdState,
  episode: Episode & { readonly endUs: number },
  episodes: ReadonlyMap<string, Episode>,
  { name, fromKernel, originUs, prompt, diagnostics }: Asked,
): WaitsReport {
  const graph = bootGraph(state, episodes)
  const { units, parts, ties, notWaitedFor } = criticalPath(graph, episode, originUs)
  const times = state.manager?.times ?? {}
  const targetUs = name === 'login' && prompt !== undefined ? prompt.promptUs : episode.endUs
  const origin = originUs === times.userspace ? 'pid1' : 'kernel'
  const idle = idlePart(episode, targetUs, prompt)
  const after = <T extends { readonly startUs: number; readonly endUs: number }>(span: T): T => ({
    ...span,
    startUs: span.startUs - originUs,
    endUs: span.endUs - originUs,
  })
  return {
    found: true,
    target: name,
    unit: episode.unit.id,
    source: state.source,
    resolution: state.resolution,
    origin,
    originUs,
    targetUs,
    totalUs: targetUs - originUs,
    path: units.map(({ unit, runUs, startUs, endUs = startUs, endedBy = 'active' }) => ({
      ...after({ unit: unit.id, startUs, endUs, endedBy }),
      runUs: runUs - originUs,
    })),
    parts: [...parts, ...idle].map(after),
    idleGaps: idleGaps(
      episodes.values(),
      Math.max(originUs, times['units-load-finish'] ?? originUs),
      episode.endUs,
    ).map(after),
    behind: startsBehind(episodes.values(), targetUs, prompt, times.finish).map(({ startUs, endUs, ...rest }) => ({
      ...rest,
      startUs: startUs - originUs,
      ...(endUs === undefined ? {} : { endUs: endUs - originUs }),
    })),
    ties: ties.map((tie) => ({ ...tie, atUs: tie.atUs - originUs })),
    notWaitedFor,
    slack: slackTo(graph, episode),
    ...(prompt === undefined ? {} : { prompt: promptAfter(prompt, originUs) }),
    findings: [
      ...blindSpots(reading, state, episode),
      ...originFinding(fromKernel && origin === 'pid1'),
      ...promptFinding(name, prompt),
    ],
    diagnostics,
  }
}

function promptAfter(prompt: LoginPrompt, originUs: number): LoginPrompt {
  const { activeUs, forkUs, promptUs, console } = prompt
  return {
    ...prompt,
    activeUs: activeUs - originUs,
    forkUs: forkUs - originUs,
    promptUs: promptUs - originUs,
    ...(console && { console: { ...console, atUs: console.atUs - originUs } }),
  }
}

/** The wait between a getty's ActiveEnter and its prompt. */
function idlePart(
  { endUs, unit }: Episode & { readonly endUs: number },
  targetUs: number,
  prompt: LoginPrompt | undefined,
): readonly PathPart[] {
  if (targetUs === endUs) return []
  return [
    {
      kind: 'idle',
      unit: unit.id,
      startUs: endUs,
      endUs: targetUs,
      ...(prompt?.endedBy === undefined ? {} : { endedBy: prompt.endedBy }),
    },
  ]
}

function originFinding(missed: boolean): readonly WaitsFinding[] {
  return missed
    ? [
        {
          name: 'no-kernel-start',
          message: 'the input does not say when the kernel started: times count from PID 1’s start',
        },
      ]
    : []
}

function promptFinding(name: string, prompt: LoginPrompt | undefined): readonly WaitsFinding[] {
  if (name !== 'login' || prompt?.from !== 'not-before') return []
  return [
    {
      name: 'prompt-not-before',
      message: `systemd before 256 does not stamp the exec of ${prompt.unit}: the prompt came not before this, and getty’s own start comes on top`,
    },
  ]
}

function diagnosticsOf({ state, lines, diagnostics }: SystemdReading): WaitsDiagnostics {
  return {
    lines,
    unparsed: diagnostics.filter(({ name }) => name === 'unparsed').reduce((sum, { count }) => sum + count, 0),
    units: state?.units.size ?? 0,
    damagedUnits: [...(state?.damaged ?? [])].toSorted(),
    problems: diagnostics,
  }
}
