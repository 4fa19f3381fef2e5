import type { BoxOptions } from '../../src/index.ts'
import { type BootedEngine, boxedBoot, type BootSample } from './boxed-boot.ts'
import { pairOrder } from '../../src/lanes/order.ts'
import { plainBoot } from './plain-boot.ts'

/** What is booted in both arms. */
export interface Contest {
  readonly options: BoxOptions
  /** The text on the console that both arms wait for. */
  readonly marker: string
  readonly pairs: number
  readonly random: () => number
}

/** What came of it. */
export interface ContestResult {
  readonly booted: BootedEngine
  readonly pairs: readonly { readonly box: BootSample; readonly plain: BootSample }[]
}

/** Boots both arms in interleaved pairs, after one uncounted boot of each. Any boot that fails ends it. */
export async function bootPairs({ options, marker, pairs, random }: Contest): Promise<ContestResult> {
  const { booted } = await boxedBoot(options, marker)
  await plainBoot(booted, marker)
  const box = async (): Promise<BootSample> => {
    const sample = await boxedBoot(options, marker)
    sameMachine(booted, sample.booted)
    return sample
  }
  const plain = (): Promise<BootSample> => plainBoot(booted, marker)
  const done: { box: BootSample; plain: BootSample }[] = []
  for (const boxFirst of pairOrder(pairs, random)) {
    const [one, other] = [await (boxFirst ? box() : plain()), await (boxFirst ? plain() : box())]
    done.push(boxFirst ? { box: one, plain: other } : { box: other, plain: one })
  }
  return { booted, pairs: done }
}

/** Two boots are alike but for their descriptors and the box's name: the same kernel, initramfs and command line. */
function sameMachine(first: BootedEngine, now: BootedEngine): void {
  if (shape(first) === shape(now)) return
  throw new Error('the boxes are no longer alike (a new agent, kernel or setting came while they ran): run it again')
}

function shape({ binary, argv, accelerator }: BootedEngine): string {
  const lines = [binary, accelerator, ...argv].join('\n')
  return lines.replaceAll(/fd=\d+/g, 'fd').replace(/^boxlab-\w+$/m, 'name')
}
