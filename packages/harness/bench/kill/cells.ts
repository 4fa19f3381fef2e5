import type { BoxOptions, DiskOptions } from '../../src/index.ts'

/** Who is hit, and with what. The signals go to vitest's main process, but for one that goes to its worker process. */
export type Blow = 'SIGINT' | 'SIGTERM' | 'SIGKILL' | 'SIGKILL of the worker' | 'worker.terminate()'

/** What runs the file that owns the box. `worker`: a worker thread of a plain Node process. */
export type Pool = 'forks' | 'threads' | 'worker'

/** One death of an owner. */
export interface Cell {
  readonly blow: Blow
  readonly pool: Pool
  /** The thread that owns the box waits for events, or runs a loop that never ends. */
  readonly thread: 'idle' | 'blocked'
  readonly step: Step
}

/** A point of a start. */
export interface Step {
  readonly name: string
  /** The blow falls when the record has this mark. */
  readonly mark: string
  /** And when a throw-away layer of a disk has a name: QEMU unlinks each once it is open. */
  readonly atLayer?: boolean
  /** The box; each is made so that the start stays at this step for some hundred milliseconds. */
  readonly box: BoxOptions
}

/** What the steps are made of. */
export interface Material {
  readonly disk: string
  /** A disk of so many zeros that to take its digest lasts. */
  readonly largeDisk: string
  /** An engine that takes 0.4 s before it begins. */
  readonly lateEngine: string
  /** An engine that has lost its tie to its parent. */
  readonly untiedEngine: string
}

/** The steps of a start in their order. */
export function stepsOf({ disk, largeDisk, lateEngine }: Material): Step[] {
  return [
    { name: 'before spawn', mark: 'folder-ready', box: firmware(largeDisk) },
    { name: 'after spawn', mark: 'spawn', box: { ...firmware(disk), engine: lateEngine } },
    {
      name: 'opening disks',
      mark: 'spawn',
      atLayer: true,
      box: { ...firmware(disk), disks: [{ path: disk }, ...Array.from({ length: 12 }, () => virtioDisk(disk))] },
    },
    {
      name: 'before QMP',
      mark: 'engine-main',
      // QMP answers only after the guest's memory was touched page by page.
      box: { ...firmware(disk), memoryMib: 1536, devices: { extra: ['-mem-prealloc'] } },
    },
    { name: 'kernel', mark: 'kernel-first-line', box: { accel: 'tcg' } },
    { name: 'ready', mark: 'ready', box: firmware(disk) },
  ]
}

/** A cell that leaks: without its tie the engine outlives an owner that dies without a word. */
export function controlCell({ disk, untiedEngine }: Material): Cell {
  const step = { name: 'control', mark: 'ready', box: { ...firmware(disk), engine: untiedEngine } }
  return { blow: 'SIGKILL of the worker', pool: 'forks', thread: 'idle', step }
}

function virtioDisk(path: string): DiskOptions {
  return { path, interface: 'virtio' }
}

function firmware(path: string): BoxOptions {
  return { boot: 'firmware', accel: 'tcg', disks: [{ path }], waitFor: { kind: 'console', text: 'done' } }
}

/** Every blow on every pool that it exists in, with the thread idle and blocked, at every step. */
export function allCells(steps: readonly Step[]): Cell[] {
  const owners: readonly (readonly [Blow, Pool])[] = [
    ['SIGINT', 'forks'],
    ['SIGTERM', 'forks'],
    ['SIGKILL', 'forks'],
    ['SIGINT', 'threads'],
    ['SIGTERM', 'threads'],
    ['SIGKILL', 'threads'],
    ['SIGKILL of the worker', 'forks'],
    ['worker.terminate()', 'worker'],
  ]
  return owners.flatMap(([blow, pool]) =>
    (['idle', 'blocked'] as const).flatMap((thread) => steps.map((step) => ({ blow, pool, thread, step }))),
  )
}

/** The cell in words, which the filter of the benchmark looks into. */
export function titleOf({ blow, pool, thread, step }: Cell): string {
  return `${blow}, ${pool}, ${thread}, ${step.name}`
}
