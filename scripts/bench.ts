// Runs one benchmark by its name: `npm run bench -- overhead` runs packages/*/bench/overhead.bench.ts on the sources.
// Without a name it lists them. What follows the name goes to the benchmark.
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const benches = new Map(
  globSync('packages/*/bench/**/*.bench.ts', { cwd: root, exclude: (path) => path.endsWith('node_modules') }).map(
    (file) => [basename(file, '.bench.ts'), file],
  ),
)
const names = [...benches.keys()].toSorted().join(', ') || 'none yet'
const [name, ...rest] = process.argv.slice(2)
const file = benches.get(name ?? '')

if (file !== undefined) {
  const run = spawnSync(process.execPath, ['--conditions=@boxlab/source', join(root, file), ...rest], {
    cwd: root,
    stdio: 'inherit',
  })
  process.exitCode = run.status ?? 1
} else if (name === undefined) console.log(`benchmarks: ${names}`)
else {
  console.error(`There is no benchmark ${name}; the benchmarks are: ${names}.`)
  process.exitCode = 2
}
