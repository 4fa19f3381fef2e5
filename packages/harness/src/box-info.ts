import type { BoxState, Machine } from '@boxlab/native'
import type { Planned } from './plan.ts'

/** What is known of a box without asking its guest. */
export interface BoxInfo {
  readonly id: string
  readonly name?: string
  readonly state: BoxState
  /** The folder of its record; absent before it boots. */
  readonly record?: string
  /** Its engine's process id while it runs. */
  readonly pid?: number
  /** The accelerator that was decided on and why; absent before the plan is made. */
  readonly accelerator?: {
    readonly asked: string
    readonly planned: 'kvm' | 'tcg'
    readonly proved?: string
    readonly reason: string
  }
  /** What was left out of the initramfs and why. */
  readonly notes: readonly string[]
  /** Whether this boot found things ready: a first one is another measurement than those that follow. */
  readonly warm?: {
    /** The image, the initramfs and the modules were in the cache. */
    readonly images: boolean
    /** Another box of this process booted before. */
    readonly process: boolean
  }
}

/** What the box itself knows. */
export interface KnownOfBox {
  readonly id: string
  readonly state: BoxState
  readonly name: string | undefined
  readonly record: string | undefined
  /** Another box of this process booted before. */
  readonly isLater: boolean
}

/** Puts together what is known. */
export function boxInfo(
  { id, state, name, record, isLater }: KnownOfBox,
  machine: Machine | undefined,
  planned: Planned | undefined,
): BoxInfo {
  const file = machine?.bootFile()['accelerator'] as { proved?: string } | undefined
  return {
    id,
    ...(name !== undefined && { name }),
    state,
    ...(record !== undefined && { record }),
    ...(machine?.pid !== undefined && { pid: machine.pid }),
    ...(planned && {
      accelerator: {
        asked: planned.plan.engine.asked,
        planned: planned.plan.engine.accel,
        ...(file?.proved !== undefined && { proved: file.proved }),
        reason: planned.plan.engine.reason,
      },
      warm: { images: planned.imagesCached, process: isLater },
    }),
    notes: planned?.notes ?? [],
  }
}
