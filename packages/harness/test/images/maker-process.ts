// One maker as a process of its own: node maker-process.ts ROOT finish|hang MAKE_MS. Every make is one line of ROOT/made.
import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cachedEntry } from '../../src/images/index.ts'

const [root, end, makeMs] = process.argv.slice(2) as [string, string, string]

const entry = await cachedEntry(root, 'thing', { from: 'maker-process' }, async (dir) => {
  await appendFile(join(root, 'made'), `${process.pid}\n`)
  await writeFile(join(dir, 'half'), 'first half')
  process.stdout.write('half\n')
  await sleep(end === 'hang' ? 600_000 : Number(makeMs))
  await writeFile(join(dir, 'whole'), 'both halves')
})
process.stdout.write(`${JSON.stringify(entry)}\n`)
