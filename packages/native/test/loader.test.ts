import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { addonFiles, loadAddon } from '../src/loader.ts'

const folder = mkdtempSync(join(tmpdir(), 'boxlab-addon-'))
afterAll(() => rmSync(folder, { recursive: true }))

function errorOf(file: string): Error & { code?: string; tried?: readonly string[] } {
  const loaded = loadAddon([file])
  return 'error' in loaded ? loaded.error : new Error('it loaded')
}

test('the built addon loads and is of this version', () => {
  const loaded = loadAddon(addonFiles({}))
  expect(loaded).toHaveProperty('addon')
})

test('a missing addon is told with what was tried and how to build it', () => {
  const error = errorOf('/nowhere/boxlab.node')
  expect(error).toMatchObject({ name: 'NativeError', code: 'ERR_BOX_NATIVE', tried: ['/nowhere/boxlab.node'] })
  expect(error.message).toBe(
    'the native runtime is not there (tried /nowhere/boxlab.node): build it with `npm run build` (in a checkout of boxlab) or install the package again',
  )
})

test('a corrupt addon is told with the loader’s own words as the cause', () => {
  const file = join(folder, 'corrupt.node')
  writeFileSync(file, 'not an ELF file')
  const error = errorOf(file)
  expect(error.message).toMatch(
    /^the native runtime at .*corrupt\.node cannot be loaded \(.*(invalid ELF header|file too short).*\): build it/,
  )
  expect(error.cause).toBeInstanceOf(Error)
})

test('an addon of another ABI is told with both versions', () => {
  const file = join(folder, 'other.cjs')
  writeFileSync(file, 'module.exports = { nativeVersion: () => "9.9.9" }')
  expect(errorOf(file).message).toBe(
    `the native runtime at ${file} is of version 9.9.9 and this package of 0.1.0: build it with \`npm run build\` (in a checkout of boxlab) or install the package again`,
  )
  writeFileSync(join(folder, 'none.cjs'), 'module.exports = {}')
  expect(errorOf(join(folder, 'none.cjs')).message).toContain('is of version none and this package of 0.1.0')
})

test('importing the package works without the addon; the first use throws', () => {
  const index = fileURLToPath(new URL('../src/index.ts', import.meta.url))
  const script = `import { runtimeMetrics } from ${JSON.stringify(index)}
    try { runtimeMetrics() } catch (error) { console.log(error.code) }`
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, BOXLAB_NATIVE: '/nowhere.node' },
    encoding: 'utf8',
    timeout: 20_000,
  })
  expect(run).toMatchObject({ status: 0, stdout: 'ERR_BOX_NATIVE\n' })
})
