import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startVitest } from './run-vitest.ts'

const page = join(import.meta.dirname, '../../../../docs/vitest.md')

/** Without what differs from run to run and from host to host. */
function normal(text: string): string {
  return text
    .replaceAll(/[ \r]+$/gm, '')
    .replaceAll(/\bb[0-9a-f]{10}\b/g, 'BOX')
    .replaceAll(/\S+(?=\/records\/)/g, 'ROOT')
    .replaceAll(/\S+\/attachments\/[0-9a-f]{40}/g, 'ATTACHED')
    .replaceAll(/\b\d+ ms/g, 'TIME ms')
    .replaceAll(/process \d+/g, 'process PID')
    .replaceAll(/reproduce: \S+qemu-system-x86_64 -name by-hand-BOX .*/g, 'reproduce: COMMAND')
}

test('the documentation shows what a run with its configuration prints', async () => {
  const running = startVitest('documented', { args: ['run', '--config', '../documented.config.ts'] })
  const { output, code } = await running.ended
  const [, ...shown] = readFileSync(page, 'utf8').split('```console\n')
  expect(shown).toHaveLength(2)
  for (const text of shown) expect(normal(output)).toContain(normal(text.split('```')[0] ?? ''))
  expect(code).toBe(1)
})
