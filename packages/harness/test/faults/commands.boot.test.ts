import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { bootBox, ExecError } from '../../src/index.ts'
import { useBox } from '../../src/vitest/index.ts'
import { ownHome } from '../fixtures/own-home.ts'
import { rejection } from '../fixtures/rejection.ts'

const home = ownHome()
const boxSecret = `box-${randomBytes(12).toString('hex')}`
const callSecret = `call-${randomBytes(12).toString('hex')}`

/** The files below a folder that hold a text. */
function filesWith(folder: string, text: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.map(({ parentPath, name }) => join(parentPath, name)).filter((path) => readFileSync(path).includes(text))
}

describe('a command that behaves badly', () => {
  const box = useBox({ memoryMib: 1024, env: { BOX_SECRET: boxSecret } })

  test('prints 100 MB of any bytes, and every one of them comes', { timeout: 120_000 }, async () => {
    const mebibyte = randomBytes(1024 * 1024)
    Buffer.from('\0\0\r\n\r\n\n\r\xff\xfe\xc3\x28\xed\xa0\x80\x1b[2J\x04', 'latin1').copy(mebibyte, 4090)
    await box.files.write('/tmp/mebibyte', mebibyte)
    const line = 'i=0; while [ $i -lt 100 ]; do cat /tmp/mebibyte; i=$((i+1)); done; head -c 7 /tmp/mebibyte >&2'
    const result = await box.shell(line, { timeoutMs: 110_000 })
    expect(result.exitCode).toBe(0)
    expect(result.stdout.length).toBe(100 * mebibyte.length)
    const expected = createHash('sha256')
    for (let piece = 0; piece < 100; piece += 1) expected.update(mebibyte)
    expect(createHash('sha256').update(result.stdout).digest('hex')).toBe(expected.digest('hex'))
    expect(result.stderr.equals(mebibyte.subarray(0, 7))).toBe(true)
  })

  test('ignores SIGTERM and is ended at its limit all the same', async () => {
    const line = "trap '' TERM INT HUP QUIT; echo deaf; while :; do sleep 733; done"
    const begin = performance.now()
    const { error } = await rejection(box.shell(line, { timeoutMs: 800 }))
    expect(performance.now() - begin).toBeLessThan(3000)
    expect(error).toMatchObject({ code: 'ERR_BOX_EXEC_TIMEOUT', stdout: Buffer.from('deaf\n') })
    await expect.poll(async () => (await box.shell('ps | grep -c "[s]leep 733"')).stdout.toString()).toBe('0\n')
  })

  test('ignores SIGTERM and is ended by its signal', async () => {
    const abort = new AbortController()
    const command = rejection(box.shell("trap '' TERM; while :; do sleep 734; done", { signal: abort.signal }))
    setTimeout(() => abort.abort(new Error('enough')), 300)
    expect((await command).error).toMatchObject({ code: 'ERR_BOX_EXEC_ABORTED' })
    await expect.poll(async () => (await box.shell('ps | grep -c "[s]leep 734"')).stdout.toString()).toBe('0\n')
  })

  test.for(['sleep 735 &', 'setsid sleep 735 &'])(
    'leaves a grandchild that holds its output, and ends when it ends: %s',
    async (child) => {
      const begin = performance.now()
      const result = await box.shell(`${child} echo printed`)
      expect(result).toMatchObject({ exitCode: 0, outputHeld: true })
      expect(result.stdout.toString()).toBe('printed\n')
      expect(performance.now() - begin).toBeLessThan(5000)
      await box.shell('pkill -f "sleep 735"')
    },
  )

  test('shows no variable of its environment in its error', async () => {
    const env = { CALL_SECRET: callSecret }
    const errors = [
      await rejection(box.exec(['/no/such/command'], { env })),
      await rejection(box.shell('echo out; sleep 736', { env, timeoutMs: 300 })),
      await rejection(box.exec(['true'], { env, cwd: '/no/such/folder' })),
      await rejection(box.exec(['true'], { env, user: 'nobody-of-that-name' })),
      await rejection(box.exec(['yes'], { env, maxOutputBytes: 100 })),
    ]
    expect(errors[1]?.error).toBeInstanceOf(ExecError)
    for (const { error } of errors) {
      const shown = `${inspect(error, { depth: 20, showHidden: true })} ${JSON.stringify(error)} ${error.stack}`
      expect(shown).not.toContain(boxSecret)
      expect(shown).not.toContain(callSecret)
    }
  })

  test('has both environments, of which the record holds neither', async () => {
    const { stdout } = await box.shell('echo $BOX_SECRET $CALL_SECRET', { env: { CALL_SECRET: callSecret } })
    expect(stdout.toString()).toBe(`${boxSecret} ${callSecret}\n`)
    expect(filesWith(box.record, box.id).length).toBeGreaterThan(0)
    expect(filesWith(box.record, boxSecret)).toEqual([])
    expect(filesWith(box.record, callSecret)).toEqual([])
  })
})

test('a boot that fails shows no variable of the box in its error and its record', async () => {
  const { error } = await rejection(
    bootBox({ env: { BOX_SECRET: boxSecret }, devices: { extra: ['-device', 'nosuchdevice'] } }),
  )
  expect(error.code).toBe('ERR_BOX_ENGINE_EXITED')
  expect(`${inspect(error, { depth: 20, showHidden: true })} ${JSON.stringify(error)}`).not.toContain(boxSecret)
  expect(filesWith(error.record ?? '', 'nosuchdevice').length).toBeGreaterThan(0)
  expect(filesWith(home, boxSecret)).toEqual([])
})
