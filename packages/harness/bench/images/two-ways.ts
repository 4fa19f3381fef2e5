import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type BootPlan, Machine, type Turn } from '@boxlab/native'
import { type BoxOptions, kernelFile, type RootImage, stateRoot } from '../../src/index.ts'
import { bootInTurn } from '../../src/ledger/index.ts'
import { newBoxId, planBoot } from '../../src/plan.ts'
import { asideFolder } from '../../src/sweep/index.ts'
import { type BootTimes, bootTimes, consoleMarks, endMark } from './boot-times.ts'

/** How the root of both ways is reached. */
export type Way = 'stage 0' | 'distribution'

/** Two ways to boot one root with one kernel. */
export interface TwoWays {
  /** The kernel's release. */
  readonly release: string
  readonly initrdBytes: Readonly<Record<Way, number>>
  readonly cmdline: Readonly<Record<Way, string>>
  /** Boots one way and gives its times. The box is gone when this resolves. */
  boot(way: Way): Promise<BootTimes>
}

const LIMIT_MS = 180_000
const TURN_MS = 600_000
/** What a box with an agent has on its command line, at other ends. */
const agentDevices = [
  '-chardev null,id=agent',
  '-device virtio-serial-pci,id=serial0',
  '-device virtserialport,id=agent0,bus=serial0.0,chardev=agent,name=boxlab.agent.0',
  '-device pvpanic-pci,id=pvpanic0',
].flatMap((pair) => pair.split(' '))
const [cpus, memoryMib] = [2, 768]

/**
 * Prepares both ways: what the image has in /boot, and its modules, are taken out into `folder`. The distribution's way is
 * the plan of the other with another initrd and a root that is given by its name: the same engine, devices, and console.
 */
export async function twoWays(root: RootImage, folder: string): Promise<TwoWays> {
  mkdirSync(folder, { recursive: true })
  takeOut(root.path, ['/boot', '/usr/lib/modules'], folder)
  const only = (pattern: RegExp): string => {
    const name = readdirSync(join(folder, 'boot')).find((each) => pattern.test(each))
    if (name === undefined) throw new Error(`the image has no ${String(pattern)} in /boot`)
    return join(folder, 'boot', name)
  }
  const [kernel, initrd] = [only(/^vmlinuz-/), only(/^initrd\.img-/)]
  const release = kernel.replace(/^.*vmlinuz-/, '')
  const options: BoxOptions = {
    image: { name: 'the root of this benchmark', resolve: async () => root },
    kernel: kernelFile(kernel, { modulesDir: join(folder, 'modules', release) }),
    accel: 'tcg',
    cpus,
    memoryMib,
    timeouts: { bootMs: LIMIT_MS },
  }
  const plan = (machine: Machine, way: Way): Promise<BootPlan> => planOf(way, options, initrd, machine)
  const sample = await withMachine({ id: newBoxId() }, async (machine) => ({
    ours: await plan(machine, 'stage 0'),
    theirs: await plan(machine, 'distribution'),
  }))
  const [ours, theirs] = [direct(sample.ours), direct(sample.theirs)]
  return {
    release,
    initrdBytes: { 'stage 0': statSync(ours.initrd).size, distribution: statSync(theirs.initrd).size },
    cmdline: { 'stage 0': ours.cmdline, distribution: theirs.cmdline },
    boot: (way) => {
      const id = newBoxId()
      const claim = { want: 'box', id, label: 'benchmark of images', memoryMib, cpus } as const
      const wait = { root: stateRoot(), signal: new AbortController().signal, timeoutMs: TURN_MS }
      return bootInTurn(claim, wait, (turn) =>
        withMachine({ id, turn }, async (machine, record) => {
          await machine.boot(await plan(machine, way))
          // agetty and the end of the boot come in either order.
          await machine.waitMark('login-prompt', LIMIT_MS)
          return bootTimes(machine.marks(), join(record, 'console.bin'))
        }),
      )
    },
  }
}

type DirectBoot = Extract<BootPlan['boot'], { kind: 'direct' }>

function direct({ boot }: BootPlan): DirectBoot {
  if (boot.kind !== 'direct') throw new Error('a plan without a kernel cannot be compared')
  return boot
}

async function planOf(way: Way, options: BoxOptions, initrd: string, machine: Machine): Promise<BootPlan> {
  const { plan } = await planBoot(options, machine, stateRoot())
  const watched = { ...plan, ready: endMark, consoleMarks }
  if (way === 'stage 0') return watched
  const boot = direct(plan)
  return {
    ...watched,
    boot: { ...boot, initrd, cmdline: `${boot.cmdline} root=/dev/vda rw` },
    // The root is the first disk. Writes go to a layer of the engine's that is thrown away.
    disks: plan.disks.map((disk) => ({ ...disk, readonly: false })),
    // Nobody is waited for; the devices of the agent stay.
    agent: false,
    devices: { ...plan.devices, extra: [...plan.devices.extra, ...agentDevices] },
  }
}

/** A machine of its own, with its turn on this host if it has one; it is gone, and its record too, when this settles. */
async function withMachine<T>(
  { id, turn }: { readonly id: string; readonly turn?: Turn },
  use: (machine: Machine, record: string) => Promise<T>,
): Promise<T> {
  const root = stateRoot()
  const recordDir = join(root, 'records', id)
  const places = { id, recordDir, asideDir: asideFolder(root, id) }
  const limits = { startNs: process.hrtime.bigint(), keep: 'never', limitBytes: 64 << 20 } as const
  const machine = new Machine({ ...places, ...limits, ...(turn && { turn }) })
  try {
    return await use(machine, recordDir)
  } finally {
    machine.kill()
    await machine.stop()
    rmSync(recordDir, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Copies folders out of an ext4 image. */
export function takeOut(image: string, folders: readonly string[], to: string): void {
  for (const folder of folders) {
    execFileSync('debugfs', ['-R', `rdump ${folder} ${to}`, image], { stdio: ['ignore', 'ignore', 'pipe'] })
  }
}
