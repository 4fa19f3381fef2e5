import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { findProgram } from '../src/find-program.ts'

const root = mkdtempSync(join(tmpdir(), 'boxlab-path-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

test('the first that can be run, of PATH and then of what is given', () => {
  const folders = ['missing', 'folder', 'plain', 'dangling', 'good', 'later'].map((name) => join(root, name))
  for (const folder of folders.slice(1)) mkdirSync(folder)
  const [, folder = '', plain = '', dangling = '', good = '', later = ''] = folders
  mkdirSync(join(folder, 'tool'))
  writeFileSync(join(plain, 'tool'), '')
  symlinkSync('nowhere', join(dangling, 'tool'))
  for (const each of [good, later]) {
    writeFileSync(join(each, 'tool'), '')
    chmodSync(join(each, 'tool'), 0o755)
  }
  expect(findProgram('tool', { PATH: folders.join(':') })).toBe(join(good, 'tool'))
  expect(findProgram('tool', { PATH: plain }, [later])).toBe(join(later, 'tool'))
  expect(findProgram('tool', { PATH: good }, [later])).toBe(join(good, 'tool'))
  expect(findProgram('tool', { PATH: plain })).toBe(undefined)
  expect(findProgram('tool', {})).toBe(undefined)
})
