import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { runBoxlab } from './run-boxlab.ts'

vi.setConfig({ testTimeout: 60_000 })

/** A record with these files, for as long as the test runs. */
function record(files: Readonly<Record<string, readonly object[]>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'boxlab-exits-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, lines] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  }
  return folder
}

function sample(mark: string, atNs: number, exits: number): object {
  const values = { exits, mmio_exits: 4, insn_emulation: 9, pf_taken: 3 }
  return { kind: 'kvm', mark, atNs, askedNs: atNs, values: {}, vcpus: [{ index: 0, values }] }
}

function counted(kernel: number): string {
  return record({
    'counters.jsonl': [sample('kernel-first-line', 1, 100), sample('init-run', 2, 100 + kernel)],
    'boot.json': [{ version: 1, accelerator: { proved: 'kvm' } }],
  })
}

describe('boxlab exits --from', () => {
  test('prints the exits of a record by phase', async () => {
    const { code, stdout, stderr } = await runBoxlab(['exits', '--from', counted(50)])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^exits by phase · accelerator kvm · 1 vCPU · 2 samples/)
    expect(stdout).toMatch(/ kernel +50 /)
  })

  test('prints version 1 of its JSON', async () => {
    const { code, stdout } = await runBoxlab(['exits', '--json', '--from', counted(50)])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      version: 1,
      accel: 'kvm',
      phases: [
        { name: 'firmware', counters: { exits: 100, mmio_exits: 4 } },
        { name: 'kernel', counters: { exits: 50, mmio_exits: 0 } },
      ],
    })
  })

  test('takes single files of a record too', async () => {
    const folder = counted(50)
    const { stdout } = await runBoxlab(['exits', '--from', join(folder, 'counters.jsonl'), join(folder, 'boot.json')])
    expect(stdout).toMatch(/ kernel +50 /)
  })

  test('puts several records together as boots', async () => {
    const { code, stdout } = await runBoxlab(['exits', '--from', ...[50, 70, 60].map(counted)])
    expect(code).toBe(0)
    expect(stdout).toContain('median of the boots, with the least and the most · n=3')
    expect(stdout).toMatch(/ kernel +60 [^]* min +50 [^]* max +70 /)
  })

  test('says of a record under TCG that there are none, with exit code 1, and answers in JSON too', async () => {
    const why = 'the accelerator is tcg: no exits'
    const folder = record({ 'counters.jsonl': [{ kind: 'kvm-none', atNs: 1, why }] })
    const { code, stdout, stderr } = await runBoxlab(['exits', '--from', folder])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^boxlab: no exits: the box ran under tcg/)
    const json = await runBoxlab(['exits', '--json', '--from', folder])
    expect(json.code).toBe(1)
    expect(JSON.parse(json.stdout)).toMatchObject({ version: 1, accel: 'tcg', phases: [], found: false })
  })

  test('is wrong use without files, and with records and files mixed', async () => {
    const none = await runBoxlab(['exits', '--from', '/nowhere/stats.json'])
    expect([none.code, none.stderr]).toEqual([
      2,
      'boxlab: /nowhere/stats.json cannot be read (ENOENT); give a record or a file with replies of query-stats\n',
    ])
    const folder = counted(50)
    const mixed = await runBoxlab(['exits', '--from', folder, join(folder, 'boot.json')])
    expect([mixed.code, mixed.stderr]).toEqual([2, 'boxlab: give records, or files, and not both\n'])
  })
})

test('boxlab exits without KVM refuses before anything boots', async () => {
  const { code, stdout, stderr } = await runBoxlab(['exits'], { env: { BOXLAB_KVM: '/nowhere/kvm' } })
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/^boxlab: `accel: 'kvm'` cannot be had here: .*ENOENT/m)
  expect(stderr).not.toContain('vm-start')
})
