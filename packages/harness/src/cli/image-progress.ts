import yoctoSpinner from 'yocto-spinner'
import type { ImageProgress } from '../images/root-image.ts'
import { describeProgress, progressLines } from '../images/progress-text.ts'
import { terminalOf } from './terminal.ts'

/** Shows how an image is made. */
export interface ImageProgressView {
  readonly progress: (event: ImageProgress) => void
  /** Takes away what is drawn. */
  end(): void
}

/** A spinner with numbers on a terminal; elsewhere a line for each step and for each thing that a tool says. */
export function imageProgress(stream: NodeJS.WriteStream): ImageProgressView {
  return terminalOf(stream).live ? spinnerView(stream) : lineView(stream)
}

function spinnerView(stream: NodeJS.WriteStream): ImageProgressView {
  // Signals are the command's own business.
  const spinner = yoctoSpinner({ stream, handleSignals: false })
  return {
    progress(event) {
      const text = `${event.source}: ${describeProgress(event)}`
      // A line that wraps cannot be taken back whole.
      const width = Math.max((stream.columns || 80) - 4, 20)
      spinner.text = text.length <= width ? text : `${text.slice(0, width - 1)}…`
      spinner.start()
    },
    end: () => void spinner.stop(),
  }
}

function lineView(stream: NodeJS.WriteStream): ImageProgressView {
  return { progress: progressLines((line) => stream.write(`${line}\n`)), end: () => {} }
}
