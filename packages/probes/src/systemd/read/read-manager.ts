import { MANAGER_STAMPS, type ManagerFacts, type ManagerStamp, type ManagerTimes } from '../model.ts'
import { first } from './read-unit.ts'
import type { ReadingProblems } from './reading-diagnostics.ts'
import { readDated, readMonotonic, type StampReader } from './time-text.ts'
import type { Block } from './tokenize.ts'

const SHOW_STAMPS: { readonly [stamp in ManagerStamp]: string } = {
  initrd: 'InitRD',
  userspace: 'Userspace',
  'security-start': 'SecurityStart',
  'security-finish': 'SecurityFinish',
  'generators-start': 'GeneratorsStart',
  'generators-finish': 'GeneratorsFinish',
  'units-load-start': 'UnitsLoadStart',
  'units-load-finish': 'UnitsLoadFinish',
  finish: 'Finish',
  'units-load': 'UnitsLoad',
}

/** True for the block that `systemctl show` prints without a unit (org.freedesktop.systemd1.Manager). */
export function isShowManager(block: Block): boolean {
  return block.format === 'show' && !block.fields.has('Id') && block.fields.has('UserspaceTimestampMonotonic')
}

/** True for the lines `Timestamp NAME: …` at the head of a dump. */
export function isDumpManager(block: Block): boolean {
  return block.format === 'dump' && !block.fields.has('Id')
}

/** Reads PID 1's block of `systemctl show`. */
export function readShowManager(block: Block, problems: ReadingProblems): ManagerFacts {
  return {
    times: readStamps(block, problems, (stamp) => `${SHOW_STAMPS[stamp]}TimestampMonotonic`, readMonotonic),
    // The manager of a user lives in a group below user.slice; that of the system in the root group.
    ofUser: (first(block, 'ControlGroup') ?? '').startsWith('/user.slice/'),
    softReboots: Number(/^\d{1,9}$/.exec(first(block, 'SoftRebootsCount') ?? '')?.[0] ?? 0),
  }
}

/** Reads PID 1's stamps at the head of a dump. */
export function readDumpManager(block: Block, problems: ReadingProblems, stamp: StampReader): ManagerFacts {
  return { times: readStamps(block, problems, (name) => name, stamp), ofUser: false, softReboots: 0 }
}

/** The zone of a dump and the second its clock begins at: the kernel's start, else PID 1's. */
export function clockOfDump(block: Block): { readonly zone: string; readonly baseUs: number } | undefined {
  for (const name of ['kernel', 'userspace']) {
    const read = readDated(first(block, name) ?? '')
    if (typeof read !== 'string') return { zone: read.zone, baseUs: read.us }
  }
  return undefined
}

function readStamps(
  block: Block,
  problems: ReadingProblems,
  keyOf: (stamp: ManagerStamp) => string,
  read: StampReader,
): ManagerTimes {
  const times: { [stamp in ManagerStamp]?: number } = {}
  for (const stamp of MANAGER_STAMPS) {
    const key = keyOf(stamp)
    const text = first(block, key)
    if (text === undefined || block.lost.has(key)) continue
    const us = read(text)
    if (typeof us === 'number') times[stamp] = us
    else if (us === 'unreadable') problems.add('bad-field', block.fields.get(key)?.line ?? block.line, key)
  }
  return times
}
