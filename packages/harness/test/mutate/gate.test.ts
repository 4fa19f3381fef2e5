import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { baseOf, mutationGate } from '../../src/mutate/gate.ts'

// Each run starts StrykerJS and vitest.
vi.setConfig({ testTimeout: 120_000 })

const config = { mutate: ['*.ts', '!*.test.ts', '!vitest.config.ts'], vitestConfig: 'vitest.config.ts' }
const ADD = 'export function add(a: number, b: number): number {\n  return a + b\n}\n'
const TEST =
  "import { expect, it } from 'vitest'\nimport { add } from './add.ts'\nit('adds', () => expect(add(1, 2)).toBe(3))\n"
let root: string

function put(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text)
}

function git(...args: string[]): string {
  return execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
    cwd: root,
    encoding: 'utf8',
  })
}

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'boxlab-gate-'))
  // A folder of links: the sandbox of a run links to the node_modules that it finds, and to no link.
  const packages = resolve(import.meta.dirname, '../../../../node_modules')
  mkdirSync(join(root, 'node_modules'))
  for (const name of readdirSync(packages)) symlinkSync(join(packages, name), join(root, 'node_modules', name))
  put({
    'package.json': '{ "type": "module" }\n',
    '.gitignore': 'node_modules\n',
    'vitest.config.ts': "import { defineConfig } from 'vitest/config'\nexport default defineConfig({})\n",
    'add.ts': ADD,
    'add.test.ts': TEST,
  })
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'one')
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

describe('the gate of a small project', () => {
  test('passes where every mutant is refused', async () => {
    const { code, lines } = await mutationGate(root, config, {})
    expect([code, lines.at(-1)]).toEqual([0, 'mutation: 2 refused, 0 survived, 0 exempt'])
    expect(lines[0]).toMatch(/^2 mutants in \d+ s, [\d.]+ a second$/)
  })

  test('with nothing changed says so and passes', async () => {
    expect(await mutationGate(root, config, { since: 'HEAD' })).toEqual({
      code: 0,
      lines: ['nothing to mutate: no line of a mutated file changed since HEAD'],
    })
  })

  test('names a planted survivor, of the changed lines alone', async () => {
    put({
      'add.ts': `${ADD}export const twice = (a: number): number => a * 2\n`,
      'add.test.ts': `${TEST.replace('{ add }', '{ add, twice }')}it('doubles', () => expect(twice(0)).toBe(0))\n`,
    })
    const { code, lines } = await mutationGate(root, config, { since: 'HEAD' })
    expect(code).toBe(1)
    expect(lines.slice(1)).toEqual([
      'survived add.ts:4:45 ArithmeticOperator: a * 2 -> a / 2 (not noticed by: doubles)',
      'mutation: 1 refused, 1 survived, 0 exempt',
    ])
  })

  test('fails for an exemption without its reason, and for one that exempts nothing', async () => {
    put({
      'add.ts': `// Stryker disable next-line Regex: there is none\nexport function add(a: number, b: number): number {\n  // Stryker disable next-line ArithmeticOperator\n  return a + b\n}\n`,
      'add.test.ts': TEST,
    })
    const { code, lines } = await mutationGate(root, config, {})
    expect(code).toBe(1)
    expect(lines.slice(1)).toEqual([
      'exempt add.ts:4 ArithmeticOperator: ',
      'problem: add.ts:1: the exemption has no mutant to exempt: take it out',
      'problem: add.ts:3: an exemption gives its reason, `// Stryker disable next-line MUTATOR: why no input can tell`',
      'mutation: 1 refused, 0 survived, 1 exempt',
    ])
  })

  test('fails where the tests fail before anything was changed', async () => {
    put({ 'add.ts': ADD, 'add.test.ts': TEST.replace('toBe(3)', 'toBe(4)') })
    const { code, lines } = await mutationGate(root, config, {})
    expect(code).toBe(1)
    expect(lines[0]).toMatch(/^the mutation run wrote no report: exit code 1\n/)
    expect(lines[0]).toMatch(/There were failed tests in the initial test run/)
  })

  test('refuses files that are not its own, refs that are not there, and globs that match nothing', async () => {
    expect(await mutationGate(root, config, { files: ['add.test.ts'] })).toEqual({
      code: 2,
      lines: ['add.test.ts is not among the files that `mutate` names'],
    })
    expect(await mutationGate(root, config, { since: 'nowhere' })).toEqual({
      code: 2,
      lines: ['there is no ref nowhere to compare with'],
    })
    expect(await mutationGate(root, { ...config, mutate: ['src/*.ts'] }, {})).toEqual({
      code: 2,
      lines: ['no file matches `mutate` (src/*.ts)'],
    })
  })
})

test('the workflow of the examples fails for a survivor and names it in its summary', () => {
  const workflow = readFileSync(resolve(import.meta.dirname, '../../../../examples/mutation-gate/mutate.yml'), 'utf8')
  const [, command = ''] = /- run: (npx boxlab .*)/.exec(workflow) ?? []
  put({
    'mutate.config.json': JSON.stringify(config),
    'add.ts': `${ADD}export const twice = (a: number): number => a * 2\n`,
    'add.test.ts': `${TEST.replace('{ add }', '{ add, twice }')}it('doubles', () => expect(twice(0)).toBe(0))\n`,
  })
  const env = { ...process.env, MUTATE_BASE: 'HEAD', GITHUB_STEP_SUMMARY: 'summary.md' }
  const { status, stdout } = spawnSync('bash', ['-c', command], { cwd: root, env, encoding: 'utf8' })
  expect([status, stdout.split('\n').at(-2)]).toEqual([1, 'mutation: 1 refused, 1 survived, 0 exempt'])
  expect(readFileSync(join(root, 'summary.md'), 'utf8')).toContain(
    '| add.ts:4:45 | ArithmeticOperator | `a * 2` → `a / 2` | doubles |',
  )
})

test('the base of a change is what was asked for, else where it left origin/main, else HEAD~20', () => {
  expect(baseOf(root, { MUTATE_BASE: 'v1' }, config)).toBe('v1')
  expect(baseOf(root, {}, { ...config, base: 'release' })).toBe('release')
  expect(baseOf(root, {}, config)).toBe('HEAD~20')
  const main = git('rev-parse', 'HEAD').trim()
  git('update-ref', 'refs/remotes/origin/main', main)
  // In a clean clone HEAD is where origin/main is.
  expect(baseOf(root, {}, config)).toBe('HEAD~20')
  git('commit', '-qm', 'two', '--allow-empty')
  expect(baseOf(root, {}, config)).toBe(main)
})
