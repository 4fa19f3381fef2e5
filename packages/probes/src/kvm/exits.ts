import type { ByteInput, NamedInput } from '../input/byte-input.ts'
import { readBoot } from '../timeline/read-boot.ts'
import { readMarks } from '../timeline/tokenize.ts'
import type { MarkLine } from '../timeline/record.ts'
import { absentCounters, type AbsentCounter, allAbsent } from './absent.ts'
import { countExitsProblems, type ExitsDiagnostic } from './diagnostics.ts'
import { type ExitsFinding, findingsOf } from './findings.ts'
import { type ExitsPhase, phaseOf } from './phases.ts'
import { spansOf } from './spans.ts'
import { distrust, type ReasonTable } from './read-reasons.ts'
import type { StatSchema, StatsSample } from './stats.ts'
import { readStats, type StatsReading } from './tokenize.ts'

/** What of a record, or beside pasted statistics, is known of the boot. */
export interface ExitsOptions {
  /** `marks.jsonl` of the record. */
  readonly marks?: ByteInput
  /** `boot.json` of the record. */
  readonly boot?: Uint8Array | string
  /** Guest RAM in bytes, for the share of it that is mapped; default: what `boot` says. */
  readonly guestRamBytes?: number
}

/** What the reading of the counters was and cost. */
export interface Sampling {
  /** Samples that phases are made of. */
  readonly samples: number
  /** From question to answer, of all samples and of the schemas, in us; absent outside a record. */
  readonly costUs?: number
  /** The engine interrupted the vCPUs for each answer (QEMU before 8.1); absent where its version is not known. */
  readonly kicks?: boolean
}

/** What inputs were made of, and what could not be used. */
export interface ExitsDiagnostics {
  readonly samples: number
  readonly problems: readonly ExitsDiagnostic[]
}

/** Exits per phase. */
export interface ExitsReport {
  readonly found: true
  readonly accel: 'kvm'
  /** QEMU's version, where the input has it. */
  readonly engine?: string
  readonly phases: readonly ExitsPhase[]
  /** From the start of the VM to the last sample; absent where the samples are of several VMs. */
  readonly total?: ExitsPhase
  /** What has no value here, and why: it must not be taken for 0. */
  readonly absent: readonly AbsentCounter[]
  /** Type and unit of every statistic that the input describes, by name. */
  readonly schema: readonly StatSchema[]
  readonly sampling: Sampling
  readonly findings: readonly ExitsFinding[]
  readonly diagnostics: ExitsDiagnostics
}

/** No counters, and why. */
export interface NoExits {
  readonly found: false
  /** Absent where nothing says what ran the guest. */
  readonly accel?: 'kvm' | 'tcg'
  readonly reason: 'tcg' | 'not-recorded' | 'refused' | 'no-statistics'
  readonly message: string
  readonly absent: readonly AbsentCounter[]
  readonly diagnostics: ExitsDiagnostics
}

export type ExitsResult = ExitsReport | NoExits

/**
 * KVM's counters of one boot per phase, from a record's counters.jsonl or from statistics in any form that `readStats` knows.
 * Never throws on what they hold.
 */
export function exits(inputs: readonly NamedInput[], options: ExitsOptions = {}): ExitsResult {
  const reading = readStats(inputs)
  const boot = options.boot === undefined ? undefined : readBoot(options.boot).boot
  const marks = options.marks === undefined ? [] : readMarks(options.marks).items
  const memoryMib = boot?.plan?.['memoryMib']
  const ram = options.guestRamBytes ?? (typeof memoryMib === 'number' ? memoryMib * 2 ** 20 : undefined)
  const proved = boot?.accelerator?.proved
  const samples = reading.samples.filter(({ vm, vcpus }) => vm.size > 0 || vcpus.length > 0)
  if (samples.length === 0 && reading.tables.length > 0) return tablesReport(reading)
  if (samples.length === 0) return noExits(reading, proved)
  return report(reading, samples, marks, ram)
}

function report(
  { schemas, said, tables, diagnostics }: StatsReading,
  all: readonly StatsSample[],
  marks: readonly MarkLine[],
  guestRamBytes: number | undefined,
): ExitsReport {
  const problems = countExitsProblems('all samples')
  const samples = withoutPartial(all, (label) => problems.add('partial-sample', 1, label))
  const absent = absentCounters(samples, schemas)
  const context = { schemas, absent: new Set(absent.map(({ name }) => name)), guestRamBytes, problems }
  const { spans, findings } = spansOf(samples, marks)
  const phases = spans.map((span) => phaseOf(span, context))
  const last = spans.at(-1)?.to
  const one = new Set(samples.map(({ vmId }) => vmId)).size === 1
  const total = one && last ? phaseOf({ name: 'total', to: last }, context) : undefined
  const costs = samples.flatMap(({ askedNs, atNs }) =>
    askedNs !== undefined && atNs !== undefined && atNs >= askedNs ? [(atNs - askedNs) / 1000] : [],
  )
  const costUs = costs.reduce((sum, cost) => sum + cost, (said.schemaNs ?? 0) / 1000)
  const sampling = {
    samples: samples.length,
    ...(costs.length > 0 && { costUs }),
    ...(said.kicks !== undefined && { kicks: said.kicks }),
  }
  const complete = {
    found: true as const,
    accel: 'kvm' as const,
    ...(said.engine !== undefined && { engine: said.engine }),
    phases,
    ...(total && { total }),
    absent,
    schema: [...schemas.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    sampling,
    diagnostics: { samples: all.length, problems: [...diagnostics, ...problems.list()] },
  }
  const leftOut = tables.map(({ label }) => {
    const message = `${label} has a table of reasons, which is left out beside counters of KVM: give it alone`
    return { name: 'tables-left-out' as const, message }
  })
  return { ...complete, findings: [...findings, ...findingsOf(complete, said), ...leftOut] }
}

/** Tables of other tools: a phase each, of the interval that the tool watched. They have reasons, and none of KVM's counters. */
function tablesReport({ tables, diagnostics }: StatsReading): ExitsReport {
  const phases: readonly ExitsPhase[] = tables.map(({ label, reasons }) => ({
    name: label,
    to: label,
    counters: Object.fromEntries(reasons.map(({ name, count }) => [name, count])),
    kinds: { total: sumOfReasons(reasons) },
    faults: {},
    atEnd: {},
    histograms: {},
    vcpus: [],
    reasons,
  }))
  const [one] = phases
  return {
    found: true,
    accel: 'kvm',
    phases,
    ...(one && phases.length === 1 && { total: { ...one, name: 'total' } }),
    absent: allAbsent('a table of reasons has none of KVM’s counters').filter(({ name }) => name !== 'exits'),
    schema: [],
    sampling: { samples: tables.length },
    findings: tables.flatMap(tableFindings),
    diagnostics: { samples: tables.length, problems: diagnostics },
  }
}

function tableFindings(table: ReasonTable): ExitsFinding[] {
  const { label, tool, reasons, saidTotal } = table
  const [why, sum] = [distrust(table), sumOfReasons(reasons)]
  const findings: ExitsFinding[] = []
  if (why !== undefined) {
    const message = `the reasons in ${label} (${tool}) are not to be trusted, only their sum is: ${why}`
    findings.push({ name: 'reasons-untrusted', message })
  }
  if (saidTotal !== undefined && saidTotal !== sum) {
    const message = `the rows of ${label} make ${sum}, and ${tool} says ${saidTotal}: rows are missing`
    findings.push({ name: 'total-differs', message })
  }
  return findings
}

function sumOfReasons(reasons: ReasonTable['reasons']): number {
  return reasons.reduce((sum, { count }) => sum + count, 0)
}

/** A difference with a sample that lacks a vCPU would miss what that vCPU did. */
function withoutPartial(samples: readonly StatsSample[], drop: (label: string) => void): readonly StatsSample[] {
  const most = new Map<string, number>()
  for (const { vmId = '', vcpus } of samples) most.set(vmId, Math.max(most.get(vmId) ?? 0, vcpus.length))
  return samples.filter(({ vmId = '', vcpus, label }) => {
    const whole = vcpus.length === most.get(vmId)
    if (!whole) drop(label)
    return whole
  })
}

function noExits({ said, diagnostics }: StatsReading, proved: string | undefined): NoExits {
  const accel = proved === 'kvm' || proved === 'tcg' ? proved : said.accel
  const { reason, message } = whyNone(said, accel)
  return {
    found: false,
    ...(accel !== undefined && { accel }),
    reason,
    message,
    absent: allAbsent(message),
    diagnostics: { samples: 0, problems: diagnostics },
  }
}

function whyNone(said: StatsReading['said'], accel: string | undefined): Pick<NoExits, 'reason' | 'message'> {
  if (accel === 'tcg') {
    const message =
      "the box ran under tcg: QEMU’s translator has no exits and no counters of them; boot with `accel: 'kvm'`"
    return { reason: 'tcg', message }
  }
  const none = said.none[0]
  if (none) return { reason: 'refused', message: `there are no counters: ${none.why}` }
  if (accel === 'kvm') {
    return { reason: 'not-recorded', message: 'no counters were recorded; boot with `record: { counters: true }`' }
  }
  const message =
    'the input has no statistics of KVM: give a record, replies of `query-stats`, or `virsh domstats --vcpu`'
  return { reason: 'no-statistics', message }
}
