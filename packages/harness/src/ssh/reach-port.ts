import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { BoxError } from '@boxlab/native'
import { unlessAborted } from '../unless-aborted.ts'
import type { Guest } from './guest.ts'

/** A connection that the port accepted. Times on the host's clock, in ns. */
export interface Reached {
  readonly stream: Duplex
  readonly atNs: bigint
  /** Connections that were tried, this one included. */
  readonly attempts: number
  /** When the last one before it was refused. */
  readonly refusedAtNs?: bigint
}

/**
 * Each try costs a guest that boots some of its time. Measured under TCG with two CPUs: every 10 ms 6 to 12 % of both, every
 * 25 ms 2 to 4 %. When the port opened is known between its last refusal and the accept.
 */
const pauseMs = 25

/**
 * Connects to a port of the guest's loopback as soon as it accepts; a refusal of the guest's is no failure before the bound.
 * Undefined when the bound has come. Rejects at an abort, and when the box has ended.
 */
export async function reachPort(
  { machine, signal }: Guest,
  port: number,
  untilMs: number,
  aborted: () => BoxError,
): Promise<Reached | undefined> {
  let refusedAtNs: bigint | undefined
  for (let attempts = 1; ; attempts += 1) {
    const leftMs = Math.ceil(untilMs - performance.now())
    if (leftMs <= 0) return undefined
    const dialled = machine.dial(port, leftMs)
    try {
      const stream = await unlessAborted(dialled, signal, aborted)
      const atNs = process.hrtime.bigint()
      return { stream, atNs, attempts, ...(refusedAtNs !== undefined && { refusedAtNs }) }
    } catch (error) {
      if (signal?.aborted) {
        // Nobody takes it any more, should it come.
        dialled.then((late) => late.on('error', () => {}).destroy()).catch(() => {})
        throw error
      }
      if (!(error instanceof BoxError)) throw error
      if (error.code === 'ERR_BOX_TIMEOUT') return undefined
      if (error.code !== 'ERR_BOX_REFUSED') throw error
      refusedAtNs = process.hrtime.bigint()
    }
    await unlessAborted(sleep(pauseMs), signal, aborted)
  }
}
