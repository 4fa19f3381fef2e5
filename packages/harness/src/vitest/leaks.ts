import { readdirSync, readlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { BootedBy } from '../booted-by.ts'
import { visiblePids } from '../proc.ts'
import { namesOrNone } from '../read-or-empty.ts'
import { type BootFile, readBootFile } from '../sweep/boot-file.ts'
import { judgeRecords } from '../sweep/judge.ts'
import { enginesOf } from '../sweep/list-boxes.ts'
import { descendsFrom, engineCandidates } from '../sweep/processes.ts'

/** A box that was there still when the tests of its file had ended. */
export interface Leak {
  readonly id: string
  readonly record: string
  readonly bootedBy: BootedBy
  /** What is left of it, each as a noun with its place. */
  readonly left: readonly string[]
}

/**
 * The boxes that a test file left running in this process or below it. Boxes of other runs are not looked at: a record
 * that is being written is found through the process that writes it.
 */
export function leaksOf(file: string): Leak[] {
  const running = ownProcesses()
    .flatMap(recordsWrittenBy)
    .flatMap((record): [string, BootFile, BootedBy][] => {
      const boot = readBootFile(record)
      if (boot === 'absent' || 'problem' in boot || boot.outcome !== 'running') return []
      const { bootedBy } = boot
      return bootedBy?.file === file ? [[record, boot, bootedBy]] : []
    })
  if (running.length === 0) return []
  const candidates = engineCandidates().filter(({ pid }) => descendsFrom(pid, process.pid))
  return running.map(([record, boot, bootedBy]) => {
    const id = boot.boxId ?? ''
    const engines = enginesOf(id, boot, candidates)
    const left = [
      ...engines.map(({ pid }) => `engine process ${pid}`),
      `record without an end ${record}`,
      ...socketsIn(record).map((path) => `socket ${path}`),
      ...engines.flatMap(({ pid }) => sharedMemoryOf(pid)).map((path) => `guest memory ${path}`),
    ]
    return { id, record, bootedBy, left }
  })
}

/**
 * Whether a box that was left at the end of its file is a leak: a fixture of a worker stops its box only with the worker.
 * Resolves once the box has stopped or its worker is gone, and at the latest after `patienceMs`.
 */
export async function isLeak({ record }: Leak, patienceMs: number): Promise<boolean> {
  const deadlineMs = performance.now() + patienceMs
  for (;;) {
    const [judged] = judgeRecords([record])
    if (judged === undefined) return false
    const { judgement } = judged
    if (judgement.state === 'ended') return judgement.boot.outcome !== 'stopped'
    if (judgement.state !== 'running' || performance.now() > deadlineMs) return true
    await setTimeout(20)
  }
}

/** The lines for the end of the run. */
export function leakLines({ id, bootedBy: { test }, left }: Leak): string[] {
  const where =
    test === undefined ? 'booted outside of a test, in a hook or at the top of the file' : `booted by "${test}"`
  return [`box ${id}, ${where}`, ...left.map((what) => `  left: ${what}`)]
}

function ownProcesses(): number[] {
  return [process.pid, ...visiblePids().filter((pid) => descendsFrom(pid, process.pid))]
}

function recordsWrittenBy(pid: number): string[] {
  const files = linksIn(`/proc/${pid}/fd`).filter((path) => path.endsWith('/marks.jsonl'))
  return [...new Set(files.map((path) => dirname(path)))]
}

function sharedMemoryOf(pid: number): string[] {
  return linksIn(`/proc/${pid}/fd`).filter((path) => path.startsWith('/dev/shm/'))
}

function linksIn(folder: string): string[] {
  return namesOrNone(folder).flatMap((name) => {
    try {
      return [readlinkSync(join(folder, name))]
    } catch {
      return []
    }
  })
}

function socketsIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isSocket())
    return entries.map(({ name }) => join(folder, name))
  } catch {
    return []
  }
}
