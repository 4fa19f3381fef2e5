// How long the accesses of a large QEMU trace take, and how much memory: a real trace of one boot, repeated up to a size, beside
//   - a script as one would write it, readline and a regular expression for each line, which gives the same full answer:
//     by device, region, address and phase, with configuration space by function;
//   - awk, which counts lines by the quoted name and nothing else;
//   - a plain read of the file.
// Each arm runs in a process of its own, and they take turns. The bound is a third of the script's time, below 150 MB.
//
//   npm run bench -- trace [MB]        (default 1000)
import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import { mmioFrom } from '../src/index.ts'
import { type FullAnswer, answerByScript, answerOf } from './trace-by-script.ts'

const ROUNDS = 3
const BOUND_RATIO = 3
const BOUND_MB = 150
const FIXTURE = new URL('../test/qemu/fixtures/q35-7.2.log.zst', import.meta.url)
const CHUNK_BYTES = 1024 * 1024

/** What an arm's process prints. */
interface Ran {
  readonly ms: number
  /** Of all threads: what a loaded host changes least. */
  readonly cpuMs: number
  readonly rssMb: number
  readonly answer?: FullAnswer
}

const [first, file = ''] = process.argv.slice(2)
if (first === '--probe') await arm(async () => answerOf(await mmioFrom(chunks())))
else if (first === '--script') await arm(() => answerByScript(file))
else if (first === '--read') {
  await arm(async () => {
    for await (const chunk of chunks()) void chunk
    return undefined
  })
} else compare(Number(first ?? 1000))

/** As the harness reads: into one buffer. */
async function* chunks(): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(CHUNK_BYTES)
  const handle = await open(file)
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, null)
    if (bytesRead === 0) break
    yield buffer.subarray(0, bytesRead)
  }
  await handle.close()
}

async function arm(work: () => Promise<FullAnswer | undefined>): Promise<void> {
  const from = performance.now()
  const cpu = process.cpuUsage()
  const answer = await work()
  const { user, system } = process.cpuUsage(cpu)
  const ran: Ran = {
    ms: performance.now() - from,
    cpuMs: (user + system) / 1000,
    rssMb: process.resourceUsage().maxRSS / 1024,
    ...(answer && { answer }),
  }
  process.stdout.write(JSON.stringify(ran))
}

function compare(megabytes: number): void {
  if (!Number.isFinite(megabytes) || megabytes <= 0) {
    console.error('usage: npm run bench -- trace [MB]')
    process.exitCode = 2
    return
  }
  const folder = mkdtempSync(join(tmpdir(), 'boxlab-trace-bench-'))
  try {
    const path = join(folder, 'trace.log')
    const bytes = write(path, megabytes * 1e6)
    report(path, bytes)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function write(path: string, atLeast: number): number {
  const once = zstdDecompressSync(readFileSync(FIXTURE))
  const target = openSync(path, 'w')
  let bytes = 0
  for (; bytes < atLeast; bytes += once.length) writeSync(target, once)
  closeSync(target)
  return bytes
}

function runArm(name: string, path: string): Ran {
  if (name === 'awk') {
    const from = performance.now()
    const { status } = spawnSync('awk', ["-F'", '{ n[$2]++ } END { for (name in n) print name, n[name] }', path])
    if (status !== 0) throw new Error(`awk ended with ${status}`)
    return { ms: performance.now() - from, cpuMs: Number.NaN, rssMb: Number.NaN }
  }
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=@boxlab/source', import.meta.filename, `--${name}`, path],
    { encoding: 'utf8', maxBuffer: 1 << 30 },
  )
  if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}`)
  return JSON.parse(stdout) as Ran
}

function report(path: string, bytes: number): void {
  const names = ['probe', 'script', 'awk', 'read'] as const
  const runs = new Map<string, Ran[]>(names.map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) for (const name of names) runs.get(name)!.push(runArm(name, path))
  const [answer, ...others] = [...runs.get('probe')!, ...runs.get('script')!].map((run) => JSON.stringify(run.answer))
  if (others.some((other) => other !== answer)) throw new Error('the probe and the script do not give the same answer')
  const { lines = 0 } = runs.get('probe')![0]!.answer ?? {}
  const probeMs = median(runs.get('probe')!.map(({ ms }) => ms))
  console.log(
    `${(bytes / 1e6).toFixed(0)} MB, ${lines} lines, a real trace of q35 repeated; median of ${ROUNDS}, arms taking turns, the file in the page cache`,
  )
  console.log('the probe and the script gave the same answer, by device, region, address and phase')
  console.log(['', 's', 'CPU s', 'M lines/s', 'MB/s', 'peak MB', 'of the probe'].map(cell).join(''))
  const titles = { probe: 'mmioFrom', script: 'readline+regex', awk: 'awk (count)', read: 'plain read' }
  for (const name of names) {
    const ms = median(runs.get(name)!.map((run) => run.ms))
    const cpuMs = median(runs.get(name)!.map((run) => run.cpuMs))
    const rssMb = Math.max(...runs.get(name)!.map((run) => run.rssMb))
    const row = [
      titles[name],
      (ms / 1000).toFixed(2),
      Number.isNaN(cpuMs) ? '-' : (cpuMs / 1000).toFixed(2),
      (lines / ms / 1000).toFixed(2),
      (bytes / ms / 1000).toFixed(0),
      Number.isNaN(rssMb) ? '-' : rssMb.toFixed(0),
      `${(ms / probeMs).toFixed(2)}x`,
    ]
    console.log(row.map(cell).join(''))
  }
  const ratio = median(runs.get('script')!.map(({ ms }) => ms)) / probeMs
  const peakMb = Math.max(...runs.get('probe')!.map(({ rssMb }) => rssMb))
  const held = ratio >= BOUND_RATIO && peakMb < BOUND_MB
  console.log(
    `bounds: at least ${BOUND_RATIO}x the script (${ratio.toFixed(2)}x), below ${BOUND_MB} MB (${peakMb.toFixed(0)} MB): ${held ? 'held' : 'NOT HELD'}`,
  )
  process.exitCode = held ? 0 : 1
}

function cell(text: string): string {
  return text.padStart(15)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
