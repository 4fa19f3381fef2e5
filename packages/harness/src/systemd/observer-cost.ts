import { fewestForInterval, median, pairedShift, type Shift } from '@boxlab/probes'
import { bootBox } from '../boot-box.ts'
import { pairOrder, seeded } from '../lanes/order.ts'
import { exclusiveHost } from '../ledger/index.ts'
import type { BoxOptions } from '../options.ts'

/** One boot: PID 1's start to the end of the boot as systemd counts it (its Finish), in us of the guest's clock. */
interface Pair {
  readonly withoutUs: number
  readonly withUs: number
}

/** What the recorder of jobs costs a boot. */
export interface ObserverCost {
  readonly version: 1
  readonly accelerator: string
  readonly seed: number
  readonly pairs: readonly Pair[]
  /** By how much a boot with the recorder is longer, in us. */
  readonly shift: Shift
}

export interface ObserverOptions {
  /** Pairs of boots; 8 or more for an interval at 99 %. */
  readonly pairs: number
  /** Decides which of a pair boots first. */
  readonly seed: number
  readonly signal?: AbortSignal | undefined
  /** Hears of each boot. */
  readonly booted?: (boot: {
    readonly done: number
    readonly of: number
    readonly recorded: boolean
    readonly us: number
  }) => void
}

/**
 * Boots with and without the recorder in turn, in blocks of an order that the seed decides, on a host that no other box of
 * this user uses. Fails with the first boot that fails.
 */
export async function observerCost(
  options: BoxOptions,
  { pairs, seed, signal, booted }: ObserverOptions,
): Promise<ObserverCost> {
  using host = await exclusiveHost({ label: 'boxlab jobs --observer', signal })
  const measured: Pair[] = []
  let accelerator = ''
  let done = 0
  const boot = async (jobs: boolean): Promise<number> => {
    const box = await bootBox({ ...options, signal, record: { ...options.record, jobs, keep: 'on-failure' } })
    try {
      const { Finish, Userspace } = (await box.systemd()).times
      if (Finish === undefined || Userspace === undefined)
        throw new Error('systemd of this image does not say when its boot was over')
      accelerator = box.info().accelerator?.proved ?? accelerator
      done += 1
      booted?.({ done, of: pairs * 2, recorded: jobs, us: Finish - Userspace })
      return Finish - Userspace
    } finally {
      await box.stop()
    }
  }
  for (const recordedFirst of pairOrder(pairs, seeded(seed))) {
    const first = await boot(recordedFirst)
    const second = await boot(!recordedFirst)
    measured.push(recordedFirst ? { withUs: first, withoutUs: second } : { withUs: second, withoutUs: first })
  }
  const shift = pairedShift(measured.map(({ withUs, withoutUs }) => withUs - withoutUs))
  if (!shift) throw new Error('no pair of boots was measured')
  host.release()
  return { version: 1, accelerator, seed, pairs: measured, shift }
}

function ms(us: number): string {
  return `${(us / 1000).toFixed(1)} ms`
}

/** The cost in words: never a number without its sample. */
export function renderObserverCost({ accelerator, seed, pairs, shift }: ObserverCost): string {
  const withoutUs = median(pairs.map((pair) => pair.withoutUs)) ?? Number.NaN
  const withUs = median(pairs.map((pair) => pair.withUs)) ?? Number.NaN
  const percent = `${((shift.estimate / withoutUs) * 100).toFixed(1)} %`
  const { interval } = shift
  const within = interval
    ? `, 99 % interval ${ms(interval.low)} to ${ms(interval.high)}${interval.low <= 0 && interval.high >= 0 ? ', which has 0 in it: not told apart from nothing' : ''}`
    : `; no interval below ${fewestForInterval(0.01)} pairs`
  return [
    `PID 1’s start to the end of the boot, ${pairs.length} pairs of boots in turn (seed ${seed}), ${accelerator}:`,
    `  without the recorder  ${ms(withoutUs)} (median)`,
    `  with it               ${ms(withUs)} (median)`,
    `  the recorder costs    ${ms(shift.estimate)} (${percent})${within}`,
    '',
  ].join('\n')
}
