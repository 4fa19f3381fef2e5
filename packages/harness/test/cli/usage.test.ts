import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { runBoxlab } from './run-boxlab.ts'

vi.setConfig({ testTimeout: 60_000 })

describe('wrong use is one sentence that says where help is, and exit code 2', () => {
  test.for([
    [['bot'], /unknown command 'bot' \(did you mean boot\?\); see `boxlab --help`/],
    [['--frobnicate'], /unknown option '--frobnicate'; see `boxlab --help`/],
    [['boot', '--kernl', 'x'], /unknown option '--kernl' \(did you mean --kernel\?\); see `boxlab boot --help`/],
    [['boot', '--memory', 'much'], /'much' is invalid\. It must be a whole number; see `boxlab boot --help`/],
    [['boot', '--accel', 'xen'], /'xen' is invalid\. Allowed choices are auto, kvm, tcg/],
    [['boot', 'stray'], /too many arguments.*see `boxlab boot --help`/],
    [['show'], /missing required argument 'record'/],
    [['doctor', '--require'], /argument missing/],
    [['ssh-first'], /give a record, or `--from` with its files, or an `--image` to boot/],
    [['ssh-first', '/nonexistent'], /there is no record \/nonexistent/],
    [['ssh-first', '--from', '/nonexistent'], /\/nonexistent cannot be read \(ENOENT\)/],
    [['ssh-first', '--logins', 'two'], /'two' is invalid\. It must be a whole number; see `boxlab ssh-first --help`/],
  ] as const)('%s', async ([args, sentence]) => {
    const { code, stdout, stderr } = await runBoxlab(args)
    expect(stderr).toMatch(sentence)
    expect(stderr).toMatch(/^boxlab: [^\n]+\n$/)
    expect([code, stdout]).toEqual([2, ''])
  })

  test('no command at all is help on stderr', async () => {
    const { code, stdout, stderr } = await runBoxlab([])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^Usage: boxlab /)
  })
})

describe('options that make no box are refused in one sentence before anything is made', () => {
  test.for([
    [['--cpus', '0'], /`cpus` must be a whole number from 1 to 255, not 0/],
    [['--memory', '1'], /`memoryMib` must be/],
    [['--kernel', '/etc'], /`kernel` must be a file, and \/etc is a directory/],
    [['--kernel', '/nonexistent'], /`kernel`: there is no file \/nonexistent/],
    [['--firmware-disk', '/etc/passwd', '--cmdline', 'quiet'], /`cmdline` and `boot: 'firmware'` exclude each other/],
    [['--firmware-disk', '/nonexistent.img'], /there is no file \/nonexistent\.img/],
  ] as const)('boot %s', async ([args, sentence]) => {
    const { code, stdout, stderr } = await runBoxlab(['boot', ...args])
    expect(stderr).toMatch(sentence)
    expect([code, stdout]).toEqual([2, ''])
  })
})

test('the version is the one of the package', async () => {
  const file = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')
  expect((await runBoxlab(['--version'])).stdout).toBe(`${(JSON.parse(file) as { version: string }).version}\n`)
})

test.for([
  ['--help'],
  ['help', 'boot'],
  ['boot', '--help'],
  ['show', '-h'],
  ['ssh-first', '--help'],
  ['doctor', '--help'],
])('help is printed for %s', async (args) => {
  const { code, stdout, stderr } = await runBoxlab(args)
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^Usage: boxlab /)
})
