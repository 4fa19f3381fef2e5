import { type Guest } from './guest.ts'

/** Busy loops in the guest. */
export interface BusyLoops {
  /** Ends them; resolves when they are gone, or the box is. */
  end(): Promise<void>
}

/** Starts so many busy loops; none of them outlives `limitMs`. */
export async function startBusyLoops({ machine }: Guest, cpus: number, limitMs: number): Promise<BusyLoops> {
  const request = { argv: ['/bin/sh', '-c', 'while :; do :; done'], env: [], timeoutMs: limitMs }
  const started = await Promise.allSettled(Array.from({ length: cpus }, async () => machine.exec(request)))
  const loops = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const end = async (): Promise<void> => {
    for (const loop of loops) loop.kill()
    await Promise.allSettled(loops.map(async (loop) => loop.wait()))
  }
  for (const { stdin, stdout, stderr } of loops) {
    stdin.on('error', () => {}).end()
    for (const stream of [stdout, stderr]) stream?.on('error', () => {}).resume()
  }
  const failed = started.find((one) => one.status === 'rejected')
  if (failed) {
    await end()
    throw failed.reason
  }
  return { end }
}
