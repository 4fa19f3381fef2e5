import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const client = join(import.meta.dirname, '../../src/ssh/client.ts')

/** Loads the client in a process of its own, with a line of JavaScript before it. */
async function loaded(before: string): Promise<string> {
  const script = `${before}
const { loadSsh2 } = await import(${JSON.stringify(client)})
console.log(await loadSsh2().then(({ Client }) => typeof Client, ({ code, message }) => code + ' ' + message))`
  const args = ['-C', '@boxlab/source', '--input-type=module', '-e', script]
  return (await promisify(execFile)(process.execPath, args)).stdout.trim()
}

test('the client is loaded', async () => {
  expect(await loaded('')).toBe('function')
})

test('a client that is not installed is one sentence with the remedy', async () => {
  const hook = `import { registerHooks } from 'node:module'
registerHooks({ resolve(name, context, next) { return next(name === 'ssh2' ? 'not-installed-here' : name, context) } })`
  expect(await loaded(hook)).toBe(
    'ERR_BOX_TOOL_MISSING `sshFirst` needs the package ssh2, and it cannot be loaded: `npm install --save-dev ssh2`',
  )
})
