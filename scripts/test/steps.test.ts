import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'

const scripts = resolve(import.meta.dirname, '..')

/** Runs a piece of bash the way the gates do, with the steps loaded. */
function bash(text: string): { code: number | null; out: string; err: string; steps: string } {
  const folder = mkdtempSync(join(tmpdir(), 'boxlab-steps-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const steps = join(folder, 'steps.tsv')
  const run = spawnSync('bash', ['-c', `set -euo pipefail; . '${scripts}/env.sh'; . '${scripts}/steps.sh'; ${text}`], {
    encoding: 'utf8',
    env: { ...process.env, BOXLAB_STEPS: steps, TMPDIR: folder, CI: 'true' },
  })
  const lines = spawnSync('cat', [steps], { encoding: 'utf8' }).stdout.replaceAll(/\t[\d.]+\t/g, '\tS\t')
  return { code: run.status, out: run.stdout.replaceAll(/ +[\d.]+ s\b/g, ' S'), err: run.stderr, steps: lines }
}

describe('a step', () => {
  test('that succeeds prints one line with its detail and keeps its output to itself', () => {
    const run = bash('work() { echo noise; detail "3 things"; }; step build work')
    expect(run).toEqual({ code: 0, out: 'ok   build S  3 things\n', err: '', steps: 'build\tS\t0\n' })
  })

  test('that fails shows its output and its sentence, and leaves going on to the caller', () => {
    const run = bash('work() { echo noise; fail "Install xz."; }; step build work; echo "code $step_code"')
    expect(run).toEqual({
      code: 0,
      out: 'noise\nFAIL build S\ncode 1\n',
      err: 'Install xz.\n',
      steps: 'build\tS\t1\n',
    })
  })

  test('fails at the first command that fails inside it', () => {
    const run = bash('work() { false; echo later; }; step build work; echo "code $step_code"')
    expect(run.out).toBe('FAIL build S\ncode 1\n')
  })

  test('fails when the left end of a pipe inside it fails', () => {
    const run = bash('work() { (exit 7) | cat; }; loud_step tests work; echo "code $step_code"')
    expect(run.out).toBe('FAIL tests S\ncode 7\n')
  })

  test('that is bounded ends with code 124', () => {
    const run = bash('work() { limit 0.2 sleep 60; }; step slow work; echo "code $step_code"')
    expect(run.out).toBe('FAIL slow S\ncode 124\n')
  })
})

describe('the versions', () => {
  test.for([
    ['1.88', '1.88.0', true],
    ['1.88', '1.95.0', true],
    ['1.88', '1.9.0', false],
    ['22.22', '18.20.4', false],
    ['22.22', '', false],
  ] as const)('%s is met by %j: %s', ([wanted, actual, met]) => {
    expect(bash(`at_least '${wanted}' '${actual}'`).code).toBe(met ? 0 : 1)
  })

  test('of Rust is the one in the manifest', () => {
    const manifest = readFileSync(join(scripts, '../packages/native/Cargo.toml'), 'utf8')
    const version = bash('rust_wanted').out.trim()
    expect(version).toMatch(/^\d+\.\d+$/)
    expect(manifest).toContain(`rust-version = "${version}"`)
  })
})
