import type { Box } from '../box.ts'

/** What Ctrl-C and SIGTERM do to a box. */
export interface Interrupt {
  /** Aborts the boot. */
  readonly signal: AbortSignal
  /** The signal that came first; absent when none did. */
  readonly received: NodeJS.Signals | undefined
  /** Resolves with the first signal. */
  readonly arrived: Promise<NodeJS.Signals>
  /** The box that runs from now on: a second signal kills it. */
  guard(box: Box): void
  /** Gives the signals back to Node. */
  end(): void
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The first signal asks: a boot is aborted, a running box is stopped by whoever waits for `arrived`. The second kills. */
export function interrupts(): Interrupt {
  const boot = new AbortController()
  let running: Box | undefined
  let received: NodeJS.Signals | undefined
  const { promise: arrived, resolve } = Promise.withResolvers<NodeJS.Signals>()
  const handle = (signal: NodeJS.Signals): void => {
    if (received !== undefined) {
      running?.kill()
      return
    }
    received = signal
    resolve(signal)
    if (!running) boot.abort(new Error(`it was interrupted by ${signal}`))
  }
  for (const signal of signals) process.on(signal, handle)
  return {
    signal: boot.signal,
    get received() {
      return received
    },
    arrived,
    guard: (box) => {
      running = box
    },
    end: () => {
      for (const signal of signals) process.off(signal, handle)
    },
  }
}
