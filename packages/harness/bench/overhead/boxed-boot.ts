import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readJsonLines } from '@boxlab/probes'
import { bootBox, type Box, type BoxOptions } from '../../src/index.ts'
import { findMarker } from './find-marker.ts'
import { ownCpuMs, type ProcessCost, processCost } from './process-cost.ts'

/** One boot of either arm. Times are in milliseconds from before the fork of the engine. */
export interface BootSample {
  /** The marker's last byte was read from the console. */
  readonly markerMs: number
  /** The caller could go on: `bootBox` resolved, or the plain reader saw the marker. */
  readonly readyMs: number
  /** What the engine had used when the caller could go on. */
  readonly engine: ProcessCost
  /** Processor time of the measuring process for this boot; a box's has its planning in it. */
  readonly harnessCpuMs: number
}

/** The engine of a boot as its record tells it. */
export interface BootedEngine {
  readonly binary: string
  readonly argv: readonly string[]
  readonly accelerator: string
}

/** A boot through `bootBox` with the options of a user. The box is gone when this resolves. */
export async function boxedBoot(
  options: BoxOptions,
  marker: string,
): Promise<BootSample & { readonly booted: BootedEngine }> {
  const cpu = process.cpuUsage()
  const box = await bootBox(options)
  const readyNs = Number(process.hrtime.bigint())
  const harnessCpuMs = ownCpuMs(cpu)
  try {
    const engine = processCost(box.machine.pid ?? 0)
    const spawnNs = box.marks().find(({ mark }) => mark === 'spawn')?.atNs
    if (spawnNs === undefined) throw new Error('the box is ready and has no mark `spawn`')
    const markerMs = ((await markerReadNs(box.record, marker)) - spawnNs) / 1e6
    return { markerMs, readyMs: (readyNs - spawnNs) / 1e6, engine, harnessCpuMs, booted: bootedEngine(box) }
  } finally {
    box.kill()
    await box.stop()
  }
}

/** When the runtime's console thread read the last byte of a text: the stamp that a mark of that text has. */
async function markerReadNs(record: string, marker: string): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const end = findMarker(readFileSync(join(record, 'console.bin')), marker)
    const index = readJsonLines(
      readFileSync(join(record, 'console.idx.jsonl')),
      { file: 'console.idx.jsonl' },
      (line) => line as { offset: number; length: number; atNs: number },
    )
    const read = index.items.find(({ offset, length }) => end !== undefined && offset + length >= end)
    if (read) return read.atNs
    // The agent's channel may be faster than the console thread.
    await sleep(10)
  }
  throw new Error(`the console of a box that is ready lacks \`${marker}\``)
}

function bootedEngine(box: Box): BootedEngine {
  const { engine, accelerator } = box.machine.bootFile() as {
    engine: { binary: string; argv: string[] }
    accelerator: { proved: string }
  }
  return { ...engine, accelerator: accelerator.proved }
}
