import { asDisplayText } from '../kernel/terminal.ts'
import { table } from '../text/table.ts'
import { EXIT_KIND_NAMES } from './kinds.ts'
import { type ExitsOverBoots, exitsOverBoots } from './over-boots.ts'
import type { ExitsReport } from './exits.ts'

/** Boots of one machine with one thing taken away. */
export interface AblationRow {
  /** What was taken away, such as `rng`. */
  readonly name: string
  readonly boots: number
  /** By phase and kind: the median without it less the median with it; absent where either has no value. */
  readonly phases: readonly { readonly name: string; readonly differences: Readonly<Record<string, number>> }[]
}

/** What each thing costs in exits: the same boot with it and without it. */
export interface Ablation {
  readonly version: 1
  readonly accel: 'kvm'
  /** The boots from which nothing was taken. */
  readonly base: ExitsOverBoots
  readonly rows: readonly AblationRow[]
}

/** Compares boots without something to those with everything, phase by phase and kind by kind. */
export function ablation(
  base: readonly ExitsReport[],
  without: Readonly<Record<string, readonly ExitsReport[]>>,
): Ablation {
  const all = exitsOverBoots(base)
  return {
    version: 1,
    accel: 'kvm',
    base: all,
    rows: Object.entries(without).map(([name, reports]) => rowOf(name, all, exitsOverBoots(reports))),
  }
}

function rowOf(name: string, base: ExitsOverBoots, without: ExitsOverBoots): AblationRow {
  return {
    name,
    boots: without.boots,
    phases: base.phases.flatMap(({ name: phase, kinds }) => {
      const other = without.phases.find((one) => one.name === phase)?.kinds
      // A phase that such a boot does not have cannot be compared.
      if (!other) return []
      const differences = EXIT_KIND_NAMES.flatMap((kind) => {
        const [before, after] = [kinds[kind], other[kind]]
        return before === undefined || after === undefined ? [] : [[kind, after - before] as const]
      })
      return [{ name: phase, differences: Object.fromEntries(differences) }]
    }),
  }
}

/** The ablation as a text table: the base, then by how much each row differs from it. */
export function renderAblation({ base, rows }: Ablation): string {
  const cells = [
    ['', 'phase', ...EXIT_KIND_NAMES],
    ...base.phases.map(({ name, kinds }) => ['all', name, ...EXIT_KIND_NAMES.map((kind) => cell(kinds[kind]))]),
    ...rows.flatMap(({ name, phases }) =>
      phases.map((phase) => [
        `without ${name}`,
        phase.name,
        ...EXIT_KIND_NAMES.map((kind) => signed(phase.differences[kind])),
      ]),
    ),
  ]
  const boots = [base.boots, ...rows.map((row) => row.boots)].join(' + ')
  const head = `exits by phase, medians of ${boots} boots in turn · accelerator kvm; below, the difference to them`
  return `${[asDisplayText(head), '', ...table(cells, [0, 1])].join('\n')}\n`
}

function cell(value: number | undefined): string {
  return value === undefined ? '-' : String(value)
}

function signed(value: number | undefined): string {
  return value === undefined ? '-' : value > 0 ? `+${value}` : String(value)
}
