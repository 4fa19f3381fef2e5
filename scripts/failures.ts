// Writes docs/failures.md: boots boxes that fail, one of each cause, and shows their errors.
//   node -C @boxlab/source scripts/failures.ts
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { collectFailures } from './failures/collect.ts'
import { renderPage } from './failures/page.ts'

const { errors, lacks, scratch } = await collectFailures()
for (const [cause, why] of lacks) console.error(`${cause} cannot be had here: ${why}.`)
if (lacks.size > 0) {
  console.error('The page was not written: it shows real boots, and so takes a host that can have them all.')
  process.exitCode = 1
} else {
  writeFileSync(join(import.meta.dirname, '..', 'docs', 'failures.md'), renderPage(errors, scratch))
}
