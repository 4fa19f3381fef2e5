import { readFileSync } from 'node:fs'
import type { BootPlan, MarkLine } from '@boxlab/native'
import { END, STAMPS, stampNames } from './trixie.ts'

/** The mark of the last line of a boot. */
export const endMark = 'user:bench-end'

/** What is looked for on the console beside the kernel's and login's own texts. */
export const consoleMarks: BootPlan['consoleMarks'] = [
  // systemd, src/core/main.c: its first line, through /dev/kmsg.
  { mark: 'user:pid1', text: ' running in system mode' },
  // Its status line, which is coloured around the unit's name.
  { mark: 'user:multi-user', text: '- Multi-User System' },
  { mark: endMark, text: END },
]

/** The spans of a boot in milliseconds, in the order of a table. */
export const spans = {
  'loading kernel and initrd': ['vm-start', 'kernel-first-line'],
  'kernel, to init-run': ['kernel-first-line', 'init-run'],
  "initrd, to systemd's first line": ['init-run', 'user:pid1'],
  "systemd's first line to multi-user": ['user:pid1', 'user:multi-user'],
  "systemd's first line to login": ['user:pid1', 'login-prompt'],
  'all, vm-start to multi-user': ['vm-start', 'user:multi-user'],
  'all, vm-start to login': ['vm-start', 'login-prompt'],
} as const

/** What systemd tells of itself, by the guest's clock. */
export const ownSpans = {
  "systemd's own: to multi-user": ['userspace', 'multiUser'],
  "systemd's own: to the end of the boot": ['userspace', 'finish'],
} as const

/** Milliseconds by the name of their span. */
export type BootTimes = Readonly<Record<keyof typeof spans | keyof typeof ownSpans, number>>

/** The times of a boot that reached its end. */
export function bootTimes(marks: readonly MarkLine[], consoleFile: string): BootTimes {
  const at = (id: string): number => {
    const found = marks.find(({ mark, clock }) => mark === id && clock === 'host')
    if (!found) throw new Error(`the boot came to its end without the mark ${id}`)
    return found.atNs / 1e6
  }
  const own = systemdStamps(readFileSync(consoleFile, 'latin1'))
  return Object.fromEntries([
    ...Object.entries(spans).map(([name, [from, to]]) => [name, at(to) - at(from)]),
    ...Object.entries(ownSpans).map(([name, [from, to]]) => [name, own[to] - own[from]]),
  ]) as BootTimes
}

/** systemd's stamps in milliseconds, as the guest printed them. */
function systemdStamps(text: string): Record<(typeof stampNames)[number], number> {
  const line = new RegExp(`^${STAMPS}((?: \\d+){${stampNames.length}})\\s*$`, 'm').exec(text)?.[1]
  if (line === undefined) throw new Error("systemd's own stamps are not on the console")
  const values = line.trim().split(' ')
  const stamps = stampNames.map((name, index) => [name, Number(values[index]) / 1000])
  return Object.fromEntries(stamps) as Record<(typeof stampNames)[number], number>
}
