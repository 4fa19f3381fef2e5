import { type RenderOptions, renderStageTable, type TimelineJson, timelineJson } from '@boxlab/probes'
import type { Box } from '../box.ts'
import type { BoxInfo } from '../box-info.ts'
import { readTimeline } from './record-timeline.ts'

/** One boot by the command line, as plain data. */
export interface BootReport<Command = unknown> {
  readonly format: 'boxlab-boot'
  readonly version: 1
  readonly box: BoxInfo
  /** The lines that ran in the guest. */
  readonly commands: readonly Command[]
  readonly error?: { readonly code?: string; readonly message: string }
  readonly timeline: TimelineJson
}

/** What came of a boot beside its record. */
export interface BootOutcome<Command> {
  readonly commands?: readonly Command[]
  readonly error?: unknown
}

/** Reports on a box whose record is there, ready or failed. */
export function bootReport<Command>(box: Box, outcome: BootOutcome<Command>): BootReport<Command> {
  const { commands = [], error } = outcome
  return {
    format: 'boxlab-boot',
    version: 1,
    box: box.info(),
    commands,
    ...(error !== undefined && { error: errorFacts(error) }),
    timeline: timelineJson(readTimeline(box.record)),
  }
}

/** The stage table with what belongs beside its numbers: why this accelerator, what was left out, where the record is. */
export function renderBoot({ box, timeline }: BootReport, options: RenderOptions): string {
  const { accelerator, notes, record } = box
  const lines = [
    ...(accelerator ? [acceleratorLine(accelerator)] : []),
    ...notes.map((note) => `note: ${note}`),
    ...(record === undefined ? [] : [`record: ${record}`]),
  ]
  return `${renderStageTable(timeline, options)}\n${lines.join('\n')}\n`
}

function acceleratorLine({ asked, planned, proved, reason }: NonNullable<BoxInfo['accelerator']>): string {
  const which = proved ?? `${planned}, which was not proved`
  return `accelerator: ${which}; asked ${asked}: ${reason}`
}

function errorFacts(error: unknown): NonNullable<BootReport['error']> {
  if (!(error instanceof Error)) return { message: String(error) }
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  return { ...code, message: error.message }
}
