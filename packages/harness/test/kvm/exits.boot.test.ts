import { accessSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Ablation, ExitsPhase, ExitsReport } from '@boxlab/probes'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { bootBox, type BoxOptions, readExits, Wait } from '../../src/index.ts'
import { exitsMatchers } from '../../src/vitest/index.ts'
import { runBoxlab } from '../cli/run-boxlab.ts'
import { countingDisk } from './counting-disk.ts'

expect.extend(exitsMatchers)
vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 })

const scratch = mkdtempSync(join(tmpdir(), 'boxlab-exits-'))
afterAll(() => rmSync(scratch, { recursive: true }))

function kvmOpens(): boolean {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

function disk(reads: number): string {
  const path = join(scratch, `reads-${reads}.img`)
  writeFileSync(path, countingDisk(reads))
  return path
}

function options(reads: number, accel: 'kvm' | 'tcg', record: string): BoxOptions {
  return {
    boot: 'firmware',
    disks: [{ path: disk(reads) }],
    accel,
    memoryMib: 64,
    // Its disk is read through ports. That of q35 is polled by MMIO, as often as it takes.
    machine: 'pc',
    waitFor: Wait.forConsole('done'),
    record: { dir: record, keep: 'always', counters: { at: ['count'] } },
  }
}

let boots = 0

/** Boots the sector to its end; gives what its record says. */
async function boot(reads: number, accel: 'kvm' | 'tcg' = 'kvm'): Promise<string> {
  const record = join(scratch, `record-${(boots += 1)}`)
  const box = await bootBox(options(reads, accel, record))
  await box.stop()
  return record
}

function report(record: string): ExitsReport {
  const result = readExits(record)
  if (!result.found) throw new Error(result.message)
  return result
}

function phase({ phases }: ExitsReport, name: string): ExitsPhase {
  const found = phases.find((one) => one.name === name)
  if (!found) throw new Error(`no phase ${name} among ${phases.map((one) => one.name).join(', ')}`)
  return found
}

/** The lines of a file of a record. */
function lines(record: string, name: string): Record<string, unknown>[] {
  const text = readFileSync(join(record, name), 'utf8').trimEnd()
  return text.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>)
}

const counting = 'user:console:count'

describe.skipIf(!kvmOpens())('the exits of a boot sector under KVM', () => {
  let record: string
  let none: ExitsReport
  let again: ExitsReport
  let many: ExitsReport
  beforeAll(async () => {
    record = await boot(40)
    none = report(record)
    again = report(await boot(40))
    many = report(await boot(40 + 137))
  })

  test('for MMIO are as many on a second boot, and one more for each read more', () => {
    const mmio = [none, again, many].map(({ total }) => total?.kinds.mmio ?? Number.NaN)
    expect(mmio[0]).toBeGreaterThanOrEqual(40)
    expect(mmio[1]).toBe(mmio[0])
    expect(mmio[2]).toBe((mmio[0] ?? 0) + 137)
  })

  test('belong to the phase in which the reads were', () => {
    expect([none, again, many].map((one) => phase(one, counting).kinds.mmio)).toEqual([40, 40, 177])
    expect(phase(none, 'firmware').kinds.mmio).toBe(phase(many, 'firmware').kinds.mmio)
    expect(none.phases.map(({ name }) => name)).toEqual(['firmware', counting, 'idle'])
  })

  test('never become fewer from one sample to the next', () => {
    const samples = lines(record, 'counters.jsonl').filter(({ kind }) => kind === 'kvm')
    const exits = samples.map(({ vcpus }) => (vcpus as { values: { exits: number } }[])[0]?.values.exits ?? Number.NaN)
    expect(exits.length).toBeGreaterThanOrEqual(3)
    expect(exits).toEqual(exits.toSorted((a, b) => a - b))
    expect(exits[0]).toBeGreaterThan(0)
  })

  test('for ports are counted, or are absent because the host emulates; never 0 for a guest that wrote to ports', () => {
    const { io } = none.total?.kinds ?? {}
    const why = none.absent.find(({ name }) => name === 'io_exits')?.why
    const emulated = io === undefined && why?.includes('the host emulates guest code') === true
    expect({ io, why, truthful: emulated || (io !== undefined && io > 10) }).toMatchObject({ truthful: true })
  })

  test('are recorded as the schema says, with the statistics described once and the cost of each sample', () => {
    const schema = JSON.parse(
      readFileSync(new URL('../../../probes/schema/record-v1.schema.json', import.meta.url), 'utf8'),
    ) as object
    const validate = new Ajv2020({ strict: false }).compile({ ...schema, $ref: '#/$defs/counters' })
    const all = lines(record, 'counters.jsonl')
    expect(all.filter((line) => !validate(line))).toEqual([])
    expect(all.filter(({ kind }) => kind === 'kvm-schema')).toHaveLength(1)
    expect(none.schema.length).toBeGreaterThan(30)
    expect(none.sampling.costUs).toBeGreaterThan(0)
    expect(none.sampling.kicks).toBe(Number.parseFloat(none.engine ?? '') < 8.1)
  })

  test('can be asked for while the box runs, and judged by the matcher', async () => {
    const dir = join(scratch, 'running')
    await using box = await bootBox(options(40, 'kvm', dir))
    await expect(box).toHaveExits({ phase: counting, mmio: 40 })
    await expect(box).toHaveExits({ mmio: none.total?.kinds.mmio ?? Number.NaN, total: { min: 100 } })
    await expect(box).not.toHaveExits({ phase: counting, mmio: { max: 39 } })
  })

  test('are printed by `boxlab exits` of a box that it boots', async () => {
    const machine = ['--firmware-disk', disk(40), '--accel', 'kvm', '--machine', 'pc', '--memory', '64']
    const flags = [...machine, '--wait-console', 'done', '--idle', '100']
    const dir = join(scratch, 'live')
    const { code, stdout, stderr } = await runBoxlab(['exits', ...flags, '--at', 'count', '--record', dir])
    expect([code, stderr.includes('boxlab:')]).toEqual([0, false])
    expect(stdout).toMatch(/ user:console:count +\d+ +\S+ +40 /)
    const json = await runBoxlab(['exits', '--from', dir, '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({ version: 1, accel: 'kvm' })
  })

  test('do not change by what a part of the boot does not use: an ablation boots both in turn', async () => {
    const machine = ['--firmware-disk', disk(40), '--accel', 'kvm', '--machine', 'pc', '--memory', '64']
    const flags = [...machine, '--wait-console', 'done', '--at', 'count', '--ablate', 'rng', '--boots', '1']
    const { code, stdout, stderr } = await runBoxlab(['exits', ...flags, '--json'])
    expect([code, stderr.match(/^boot \d of 2: /gm)?.length]).toEqual([0, 2])
    const { base, rows } = JSON.parse(stdout) as Ablation
    expect(base.phases.find(({ name }) => name === counting)?.kinds.mmio).toBe(40)
    expect(rows).toMatchObject([{ name: 'rng', boots: 1 }])
    expect(rows[0]?.phases.find(({ name }) => name === counting)?.differences).toMatchObject({ mmio: 0 })
  })
})

describe('under TCG', () => {
  let record: string
  beforeAll(async () => {
    record = await boot(40, 'tcg')
  })

  test('nobody asks the engine, and the record says why', () => {
    expect(readFileSync(join(record, 'qmp.jsonl'), 'utf8')).not.toContain('query-stats')
    const said = lines(record, 'counters.jsonl').filter(({ kind }) => kind !== 'process')
    expect(said).toEqual([
      expect.objectContaining({ kind: 'kvm-none', why: expect.stringContaining('the accelerator is tcg') as unknown }),
    ])
  })

  test('there is no answer, and asserting on it is an error, also behind `not`', async () => {
    const result = readExits(record)
    expect(result).toMatchObject({ found: false, accel: 'tcg', reason: 'tcg' })
    await expect(expect(result).toHaveExits({ mmio: { max: 1000 } })).rejects.toThrow('the box ran under tcg')
    await expect(expect(result).not.toHaveExits({ mmio: { max: 1000 } })).rejects.toThrow('the box ran under tcg')
  })
})
