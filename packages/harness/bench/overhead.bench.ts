// What the harness adds to the same QEMU command line, and how quick its channel into the guest is. Absolute times say
// little on a shared host; what holds is the ratio of two arms that take turns. A Linux boot under TCG takes seconds and
// differs by a tenth from one to the next on a busy host, which no 30 pairs average away; the firmware and recording
// parts put the same harness around a boot of a tenth of a second, and resolve a few milliseconds.
//
//   npm run bench -- overhead [bare] [firmware] [recording] [guest]      all parts when none is named
//   BOXLAB_BENCH_PAIRS        pairs of a comparison, default 30 (8 or more for an interval at 99 %)
//   BOXLAB_BENCH_KVM_PAIRS    the same for firmware boxes under KVM, default BOXLAB_BENCH_PAIRS
//   BOXLAB_BENCH_SEED         decides the order in pairs; printed
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { bootBox, BoxError, type BoxOptions, Wait } from '../src/index.ts'
import { bootDisk } from '../test/fixtures/boot-sector.ts'
import { bootPairs } from './overhead/boot-pairs.ts'
import { fewestForInterval } from '@boxlab/probes'
import { ALPHA } from './overhead/compare.ts'
import {
  collectedOutput,
  execRoundTrips,
  pingRoundTrips,
  placeOutput,
  placeTinyTrue,
  streamedOutput,
} from './overhead/guest-work.ts'
import { seeded } from '../src/lanes/order.ts'
import { POLL_MS } from './overhead/plain-boot.ts'
import { contestReport, outputHead, outputRow, roundTripHead, roundTripRow } from './overhead/report.ts'
import { table } from './overhead/table.ts'
import { talkativeDisk } from './overhead/talkative-disk.ts'

/** What the agent prints when it begins to serve its channel (`AGENT_SERVING_MARKER` in crates/protocol). */
const SERVING = 'boxlab: agent-serving'
const FIRMWARE_TEXT = 'boxlab-bench: the boot sector runs'
const CONSOLE_BYTES = 24_000
const EXECS = 200
const PINGS = 500
const EXEC_BOUND_MS = 10
const PING_BOUND_MS = 1

const seed = whole('BOXLAB_BENCH_SEED', Math.floor(Math.random() * 2 ** 31))
const pairs = whole('BOXLAB_BENCH_PAIRS', 30)
const kvmPairs = whole('BOXLAB_BENCH_KVM_PAIRS', pairs)
const random = seeded(seed)

function whole(name: string, otherwise: number): number {
  const given = process.env[name]
  if (given === undefined || given === '') return otherwise
  if (/^[1-9]\d*$/.test(given)) return Number(given)
  throw new Error(`${name} is a whole number above 0, not \`${given}\``)
}

async function contest(title: string, options: BoxOptions, marker: string, count: number): Promise<void> {
  const begin = performance.now()
  console.log(`\n${title}`)
  try {
    const load = loadavg()[0] ?? 0
    const result = await bootPairs({ options, marker, pairs: count, random })
    const { binary, accelerator, argv } = result.booted
    const minutes = ((performance.now() - begin) / 60_000).toFixed(1)
    console.log(
      `  ${count} pairs, ${accelerator} proved, ${engineVersion(binary)}, load ${load.toFixed(1)} to ${(loadavg()[0] ?? 0).toFixed(1)}, ${minutes} min`,
    )
    const cmdline = argv[argv.indexOf('-append') + 1]
    if (argv.includes('-append')) console.log(`  both arms: ${cmdline}`)
    console.log(contestReport(result))
  } catch (thrown) {
    if (!(thrown instanceof BoxError && thrown.code === 'ERR_BOX_ACCELERATOR')) throw thrown
    console.log(`  not run: ${thrown.message}`)
  }
}

function engineVersion(binary: string): string {
  return spawnSync(binary, ['--version'], { encoding: 'utf8' }).stdout.split('\n')[0] ?? binary
}

async function firmware(): Promise<void> {
  await withDisk(bootDisk(FIRMWARE_TEXT), async (options) => {
    await contest('firmware box under TCG: spawn to ready', { ...options, accel: 'tcg' }, FIRMWARE_TEXT, pairs)
    await contest('firmware box under KVM: spawn to ready', { ...options, accel: 'kvm' }, FIRMWARE_TEXT, kvmPairs)
  })
}

/** What it costs to record the console: a boot that does little else, and prints as much as a kernel does. */
async function recording(): Promise<void> {
  await withDisk(talkativeDisk(CONSOLE_BYTES, FIRMWARE_TEXT), async (options) => {
    const title = `recording ${CONSOLE_BYTES} bytes of console, firmware box under TCG: spawn to ready`
    await contest(title, { ...options, accel: 'tcg' }, FIRMWARE_TEXT, pairs)
  })
}

async function withDisk(disk: Buffer, run: (options: BoxOptions) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'boxlab-bench-'))
  try {
    const path = join(folder, 'disk.img')
    writeFileSync(path, disk)
    await run({ boot: 'firmware', disks: [{ path }], waitFor: Wait.forConsole(FIRMWARE_TEXT) })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function guest(): Promise<void> {
  await using box = await bootBox()
  console.log(`\nchannel into the guest, ${box.info().accelerator?.proved ?? 'accelerator not proved'}`)
  const tiny = await placeTinyTrue(box)
  const rows = [
    roundTripRow('exec of a static true', await execRoundTrips(box, [tiny], EXECS), EXEC_BOUND_MS),
    roundTripRow("exec of busybox's true", await execRoundTrips(box, ['/bin/true'], EXECS), EXEC_BOUND_MS),
    roundTripRow('ping', await pingRoundTrips(box, PINGS), PING_BOUND_MS),
  ]
  console.log(table(roundTripHead, rows))
  const { argv, block } = await placeOutput(box)
  const streamed = outputRow('spawn, streamed', await streamedOutput(box, argv, block))
  const collected = outputRow('exec, one buffer', await collectedOutput(box, argv, block))
  console.log(`\n${table(outputHead, [streamed, collected])}`)
}

const parts = {
  bare: () => contest('bare box: spawn to ready', {}, SERVING, pairs),
  firmware,
  recording,
  guest,
}

const named = process.argv.slice(2)
const unknown = named.find((name) => !Object.hasOwn(parts, name))
if (unknown !== undefined)
  throw new Error(`there is no part ${unknown}; the parts are ${Object.keys(parts).join(', ')}`)
console.log(
  `host: ${cpus()[0]?.model ?? 'processor unknown'}, ${cpus().length} CPUs, Linux ${release()}, Node ${process.version}`,
)
console.log(
  `box: bootBox(). plain: the same QEMU command line without -S and monitor, its console a file, read every ${POLL_MS} ms.`,
)
console.log(
  `interleaved pairs in random ABBA order, seed ${seed}. Intervals: exact signed-rank, alpha ${ALPHA}, two-sided.`,
)
if (pairs < fewestForInterval(ALPHA)) console.log(`${pairs} pairs are too few for an interval.`)
for (const [name, run] of Object.entries(parts)) {
  if (named.length === 0 || named.includes(name)) await run()
}
