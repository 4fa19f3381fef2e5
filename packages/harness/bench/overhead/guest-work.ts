import type { Box } from '../../src/index.ts'
import { seeded } from '../../src/lanes/order.ts'
import { tinyTrue } from './tiny-true.ts'

/** Round trips in milliseconds, and the part of each that the guest itself saw. */
export interface RoundTrips {
  readonly totalMs: readonly number[]
  /** From spawn to exit on the guest's clock; empty where nothing is spawned. */
  readonly guestMs: readonly number[]
}

/** Runs a command again and again, one at a time, after a few uncounted ones. */
export async function execRoundTrips(box: Box, argv: readonly string[], count: number): Promise<RoundTrips> {
  const totalMs: number[] = []
  const guestMs: number[] = []
  for (let done = -10; done < count; done += 1) {
    const begin = performance.now()
    const { exitCode, durationMs } = await box.exec(argv)
    const tookMs = performance.now() - begin
    if (exitCode !== 0) throw new Error(`\`${argv.join(' ')}\` ended with ${exitCode}`)
    if (done < 0) continue
    totalMs.push(tookMs)
    guestMs.push(durationMs)
  }
  return { totalMs, guestMs }
}

/** Asks for the guest's clock again and again, one at a time. */
export async function pingRoundTrips(box: Box, count: number): Promise<RoundTrips> {
  await box.machine.pings(10)
  const samples = await box.machine.pings(count)
  return { totalMs: samples.map(({ hostSendNs, hostRecvNs }) => (hostRecvNs - hostSendNs) / 1e6), guestMs: [] }
}

/** Puts the static `true` into the guest; gives its path. */
export async function placeTinyTrue(box: Box): Promise<string> {
  await box.files.write('/tmp/true', tinyTrue(), { mode: 0o755 })
  return '/tmp/true'
}

const BLOCK_BYTES = 1024 * 1024
const BLOCKS = 100

/** How a large output went. */
export interface OutputRun {
  readonly bytes: number
  readonly tookMs: number
  /** Resident memory of this process before, and at its highest, in bytes. */
  readonly memoryBytes: readonly [before: number, highest: number]
}

/** A command whose output is 100 times one block of random bytes, and that block. */
export async function placeOutput(box: Box): Promise<{ readonly argv: readonly string[]; readonly block: Buffer }> {
  const random = seeded(1)
  const block = Buffer.from(Uint8Array.from({ length: BLOCK_BYTES }, () => random() * 256))
  await box.files.write('/tmp/block', block)
  return { argv: ['cat', ...Array.from({ length: BLOCKS }, () => '/tmp/block')], block }
}

/** Reads the output as a stream and compares each byte of it on the way. */
export async function streamedOutput(box: Box, argv: readonly string[], block: Buffer): Promise<OutputRun> {
  const memory = watchMemory()
  const begin = performance.now()
  const command = await box.spawn(argv, { timeoutMs: 300_000 })
  command.stdin.end()
  let bytes = 0
  for await (const chunk of command.stdout as AsyncIterable<Buffer>) {
    compareAt(chunk, bytes, block)
    bytes += chunk.length
    memory.look()
  }
  await command.wait()
  return finish(bytes, performance.now() - begin, memory)
}

/** Takes the output as one buffer, and compares it afterwards. */
export async function collectedOutput(box: Box, argv: readonly string[], block: Buffer): Promise<OutputRun> {
  const memory = watchMemory()
  const begin = performance.now()
  const { stdout } = await box.exec(argv, { timeoutMs: 300_000 })
  const tookMs = performance.now() - begin
  memory.look()
  compareAt(stdout, 0, block)
  return finish(stdout.length, tookMs, memory)
}

function finish(bytes: number, tookMs: number, memory: Memory): OutputRun {
  if (bytes !== BLOCKS * BLOCK_BYTES) throw new Error(`${bytes} bytes came of ${BLOCKS * BLOCK_BYTES}`)
  return { bytes, tookMs, memoryBytes: memory.bytes() }
}

function compareAt(chunk: Buffer, at: number, block: Buffer): void {
  for (let done = 0; done < chunk.length;) {
    const from = (at + done) % BLOCK_BYTES
    const length = Math.min(chunk.length - done, BLOCK_BYTES - from)
    if (chunk.compare(block, from, from + length, done, done + length) !== 0) {
      throw new Error(`the output differs from what was printed between bytes ${at + done} and ${at + done + length}`)
    }
    done += length
  }
}

interface Memory {
  look(): void
  bytes(): readonly [before: number, highest: number]
}

function watchMemory(): Memory {
  const before = process.memoryUsage.rss()
  let highest = before
  return {
    look: () => void (highest = Math.max(highest, process.memoryUsage.rss())),
    bytes: () => [before, highest],
  }
}
