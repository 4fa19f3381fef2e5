import { problemLine } from '../text/problem-line.ts'
import { page } from '../text/page.ts'
import { table } from '../text/table.ts'
import type { AbsentCounter } from './absent.ts'
import type { ExitsReport, ExitsResult } from './exits.ts'
import { EXIT_KIND_NAMES, EXIT_KINDS, type ExitsByKind } from './kinds.ts'
import type { ExitsOverBoots } from './over-boots.ts'
import type { ExitsPhase } from './phases.ts'

/** How the exits are drawn. */
export interface ExitsRenderOptions {
  /** Characters a line of prose may have; rows of the table are never cut. Default 100. */
  readonly width?: number
  /** A row for each vCPU below each phase. Default false. */
  readonly perVcpu?: boolean
}

/**
 * Exits by kind and phase as a text table, then EPT faults, the mapping of RAM and TLB flushes, then what is absent and why.
 * The same text serves a terminal and a pull request.
 */
export function renderExits(result: ExitsResult | ExitsOverBoots, options: ExitsRenderOptions = {}): string {
  const { width = 100, perVcpu = false } = options
  const lines = !result.found
    ? [`no exits: ${result.message}`, ...result.diagnostics.problems.map(problemLine)]
    : 'boots' in result
      ? overBootsLines(result)
      : reportLines(result, perVcpu)
  return page(lines, width)
}

/** What has no value here. A 0 would say that it was counted. */
const ABSENT = '-'

function reportLines(report: ExitsReport, perVcpu: boolean): string[] {
  if (report.phases.some(({ reasons }) => reasons)) return reasonLines(report)
  const { phases, total, engine, sampling } = report
  const vcpus = phases[0]?.vcpus.length ?? 0
  const head = [
    'exits by phase',
    'accelerator kvm',
    ...(engine === undefined ? [] : [`QEMU ${engine}`]),
    `${vcpus} vCPU${vcpus === 1 ? '' : 's'}`,
    `${sampling.samples} sample${sampling.samples === 1 ? '' : 's'}`,
    ...(sampling.costUs === undefined ? [] : [`${(sampling.costUs / 1000).toFixed(1)} ms to read them`]),
    'n=1',
  ]
  const all = total && phases.length > 1 ? [...phases, total] : phases
  const rows = all.flatMap((phase) => [
    [phase.name, ...kindCells(phase.kinds)],
    ...(perVcpu ? phase.vcpus.map(({ id, kinds }) => [`  ${id}`, ...kindCells(kinds)]) : []),
  ])
  return [
    head.join(' · '),
    '',
    ...table([['phase', ...EXIT_KIND_NAMES], ...rows], [0]),
    ...memoryTable(all),
    '',
    ...absentLines(report.absent),
    ...report.findings.map(({ name, message }) => `${name}: ${message}`),
    ...report.diagnostics.problems.map(problemLine),
  ]
}

/** A table of reasons for each that the input has. */
function reasonLines({ phases, findings, diagnostics }: ExitsReport): string[] {
  const remarks = [
    ...findings.map(({ name, message }) => `${name}: ${message}`),
    ...diagnostics.problems.map(problemLine),
  ]
  return [
    'exits by reason · accelerator kvm · as another tool counted them',
    ...phases.flatMap(({ name, kinds: { total = 0 }, reasons = [] }) => [
      '',
      ...table(
        [
          [name, 'exits', '%'],
          ...reasons.map((one) => [one.name, String(one.count), ((one.count / total) * 100).toFixed(1)]),
          ['total', String(total), ''],
        ],
        [0],
      ),
    ]),
    ...(remarks.length > 0 ? ['', ...remarks] : []),
  ]
}

function memoryTable(phases: readonly ExitsPhase[]): string[] {
  const known = phases.some(
    ({ faults, ram, counters }) => Object.keys(faults).length > 0 || ram !== undefined || 'tlb_flush' in counters,
  )
  if (!known) return []
  const rows = phases.map(({ name, faults, ram, counters }) => [
    name,
    cell(faults.taken),
    cell(faults.fixed),
    cell(faults.emulated),
    cell(faults.spurious),
    cell(faults.fast),
    ram === undefined ? ABSENT : (ram.bytes / 2 ** 20).toFixed(1),
    ram?.ofGuestRam === undefined ? ABSENT : (ram.ofGuestRam * 100).toFixed(1),
    cell(counters['tlb_flush']),
    cell(counters['remote_tlb_flush']),
  ])
  const names = [
    'phase',
    'faults',
    'fixed',
    'emulated',
    'spurious',
    'fast',
    'mapped MiB',
    '% of RAM',
    'TLB flush',
    'remote',
  ]
  return ['', ...table([names, ...rows], [0])]
}

function overBootsLines({ boots, phases, absent, diagnostics }: ExitsOverBoots): string[] {
  const middle = boots >= 5 ? 'p50' : 'median'
  const rows = phases.flatMap(({ name, ranges, kinds }) => [
    [name, ...EXIT_KIND_NAMES.map((kind) => cell(kinds[kind]))],
    ['  min', ...spread(ranges, 'min')],
    ['  max', ...spread(ranges, 'max')],
  ])
  return [
    `exits by phase · accelerator kvm · ${middle} of the boots, with the least and the most · n=${boots}`,
    '',
    ...table([['phase', ...EXIT_KIND_NAMES], ...rows], [0]),
    '',
    ...absentLines(absent),
    ...diagnostics.problems.map(problemLine),
  ]
}

function spread(ranges: ExitsOverBoots['phases'][number]['ranges'], end: 'min' | 'max'): string[] {
  return EXIT_KIND_NAMES.map((kind) => {
    if (kind === 'total') return cell(ranges['exits']?.[end])
    if (kind === 'rest') return ''
    const names: readonly string[] = EXIT_KINDS[kind]
    // The extremes of a sum are not the sum of the extremes.
    return names.length === 1 ? cell(ranges[names[0] ?? '']?.[end]) : ''
  })
}

function kindCells(kinds: ExitsByKind): string[] {
  return EXIT_KIND_NAMES.map((kind) => cell(kinds[kind]))
}

function cell(value: number | undefined): string {
  return value === undefined ? ABSENT : String(value)
}

/** One line for each reason. */
function absentLines(absent: readonly AbsentCounter[]): string[] {
  const byReason = new Map<string, string[]>()
  for (const { name, why } of absent) byReason.set(why, [...(byReason.get(why) ?? []), name])
  return [...byReason].map(([why, names]) => `absent: ${names.join(', ')}: ${why}`)
}
