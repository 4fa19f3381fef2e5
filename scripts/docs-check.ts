// Fails when a code block of the documentation that names its source differs from it.
//   <!-- from: examples/first.test.ts -->          the whole file
//   <!-- from: examples/first.test.ts#boot -->     what stands between `#region boot` and `#endregion`
//   node scripts/docs-check.ts [ROOT]
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { blockFault, markedBlocks } from './docs/examples.ts'

const root = resolve(process.argv[2] ?? join(import.meta.dirname, '..'))
const documents = globSync(['*.md', 'docs/**/*.md', 'examples/*.md', 'packages/*/*.md', 'packages/*/docs/**/*.md'], {
  cwd: root,
  exclude: (path) => path.endsWith('node_modules'),
}).toSorted()

let checked = 0
let faults = 0
for (const document of documents) {
  for (const block of markedBlocks(readFileSync(join(root, document), 'utf8'))) {
    checked += 1
    const path = join(root, block.path)
    const fault = blockFault(block, existsSync(path) ? readFileSync(path, 'utf8') : undefined)
    if (fault === undefined) continue
    faults += 1
    console.error(`${document}:${block.line} ${fault}.`)
  }
}
console.log(`${checked} code blocks compared in ${documents.length} documents, ${faults} differ.`)
process.exitCode = faults === 0 ? 0 : 1
