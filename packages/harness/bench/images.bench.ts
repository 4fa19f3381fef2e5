// What images cost: building one, cold and from the cache, by source; and booting a distribution through our stage 0
// beside its own initrd. Absolute times mean nothing here: the host is shared, and Linux boots run under TCG, which takes
// some ten times as long as a processor does. What holds are ratios of arms that take turns.
//
//   npm run bench -- images [build] [boot] [rounds]     both parts when none is named; 3 rounds by default
//   BOXLAB_BENCH_SEED                                    decides the order in pairs; printed
//
// A round is one pair of boots, or one cold build of each source (at most 3; of Debian one). 8 rounds or more give an
// interval at 99 %.
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileSha256 } from '@boxlab/native'
import { fewestForInterval } from '@boxlab/probes'
import { exclusiveHost, type RootImage, stateRoot } from '../src/index.ts'
import { bootReport, type Round } from './images/boot-report.ts'
import { buildAll, buildHead, buildOnce, buildRow } from './images/build-times.ts'
import { sourceSet } from './images/source-set.ts'
import { trixie } from './images/trixie.ts'
import { twoWays } from './images/two-ways.ts'
import { ALPHA } from './overhead/compare.ts'
import { pairOrder, seeded } from '../src/lanes/order.ts'
import { short, table } from './overhead/table.ts'

const MOST_BUILDS = 3
const WHOLE = 'all, vm-start to multi-user'
const words = process.argv.slice(2)
const odd = words.find((word) => !/^(build|boot|[1-9]\d*)$/.test(word))
if (odd !== undefined) throw new Error(`\`${odd}\` is neither a part (build, boot) nor a number of rounds`)
const rounds = Number(words.find((word) => /^\d+$/.test(word)) ?? 3)
const wanted = (part: string): boolean => words.includes(part) || !(words.includes('build') || words.includes('boot'))
const seed = Number(process.env['BOXLAB_BENCH_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

async function build(folder: string): Promise<RootImage> {
  console.log('\nbuilding images; cold: into an empty cache of its own, cached: asked for again')
  const whole = await buildOnce('debian trixie, with kernel', trixie, folder)
  await using set = await sourceSet(whole.image, folder)
  const parts = await buildAll(set.sources, Math.min(rounds, MOST_BUILDS), folder)
  console.log(table(buildHead, [...parts, whole].map(buildRow)))
  const digests = new Set(parts.map(({ image }) => image.digest))
  const [paths, count] = [parts.map(({ name }) => name).join(', '), digests.size]
  console.log(
    `  ${paths}: one tree of that Debian, without its kernel; ${count === 1 ? 'one digest' : `${count} digests`}.`,
  )
  for (const line of set.missing) console.log(`  not measured: ${line}`)
  return whole.image
}

async function boot(root: RootImage, folder: string): Promise<void> {
  const ways = await twoWays(root, join(folder, 'ways'))
  const [ours, theirs] = [ways.initrdBytes['stage 0'], ways.initrdBytes.distribution]
  console.log('\ntrixie to multi-user: our stage 0 beside the initrd of initramfs-tools, tcg, 2 CPUs, 768 MiB')
  console.log(`  one root, one kernel (${ways.release}), one engine command line but for initrd, root and agent`)
  console.log(`  initrd: ${short(ours / 2 ** 20)} MiB, theirs ${short(theirs / 2 ** 20)} MiB`)
  console.log(
    `  both: ${ways.cmdline['stage 0']}; theirs also: ${ways.cmdline.distribution.slice(ways.cmdline['stage 0'].length)}`,
  )
  // The first boot would read the image from the disk.
  await fileSha256(root.path)
  const done: Round[] = []
  const load = loadavg()[0] ?? 0
  for (const oursFirst of pairOrder(rounds, seeded(seed))) {
    // Other boxes of this user wait for the end of the pair, and have their turn between pairs.
    const host = await exclusiveHost({ label: 'benchmark of images' })
    try {
      const one = await ways.boot(oursFirst ? 'stage 0' : 'distribution')
      const other = await ways.boot(oursFirst ? 'distribution' : 'stage 0')
      const pair = oursFirst ? { ours: one, theirs: other } : { ours: other, theirs: one }
      done.push(pair)
      const [first, second] = [pair.ours, pair.theirs].map((times) => short(times[WHOLE] / 1000))
      console.log(`  pair ${done.length} of ${rounds}: ${WHOLE}: ${first} s, theirs ${second} s`)
    } finally {
      host.release()
    }
  }
  console.log(
    `  ${rounds} pairs in random ABBA order, seed ${seed}, load ${load.toFixed(1)} to ${(loadavg()[0] ?? 0).toFixed(1)}`,
  )
  console.log(bootReport(done))
  const fewest = fewestForInterval(ALPHA)
  if (rounds < fewest)
    console.log(
      `  ${rounds} pairs are too few for an interval; ${fewest} give one: npm run bench -- images boot ${fewest}`,
    )
}

console.log(
  `host: ${cpus()[0]?.model ?? 'processor unknown'}, ${cpus().length} CPUs, Linux ${release()}, Node ${process.version}`,
)
console.log('absolute times mean nothing here (a shared host, guests under emulation); read the ratios.')
const begin = performance.now()
const scratch = mkdtempSync(join(tmpdir(), 'boxlab-bench-images-'))
try {
  const root = wanted('build') ? await build(scratch) : await trixie.resolve({ cacheRoot: stateRoot() })
  if (wanted('boot')) await boot(root, scratch)
  console.log(`\n${((performance.now() - begin) / 60_000).toFixed(1)} min in all`)
} finally {
  rmSync(scratch, { recursive: true, maxRetries: 5 })
}
