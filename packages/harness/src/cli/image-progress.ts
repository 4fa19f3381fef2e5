import yoctoSpinner from 'yocto-spinner'
import type { ImageProgress } from '../images/root-image.ts'
import { sizeText } from './byte-size.ts'
import { terminalOf } from './terminal.ts'

/** Shows how an image is made. */
export interface ImageProgressView {
  readonly progress: (event: ImageProgress) => void
  /** Takes away what is drawn. */
  end(): void
}

const STEPS: Readonly<Record<ImageProgress['step'], string>> = {
  fetch: 'fetching',
  unpack: 'reading',
  format: 'writing the image',
  rename: 'putting it into the cache',
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
      const text = `${event.source}: ${describe(event)}`
      // A line that wraps cannot be taken back whole.
      const width = Math.max((stream.columns || 80) - 4, 20)
      spinner.text = text.length <= width ? text : `${text.slice(0, width - 1)}…`
      spinner.start()
    },
    end: () => void spinner.stop(),
  }
}

function lineView(stream: NodeJS.WriteStream): ImageProgressView {
  let last = ''
  return {
    progress(event) {
      // Numbers of a step that was told already are for those who can see them move.
      if (event.doneBytes !== undefined) return
      const line = `${event.source}: ${describe(event)}\n`
      if (line !== last) stream.write(line)
      last = line
    },
    end: () => {},
  }
}

function describe({ step, doneBytes, totalBytes, detail }: ImageProgress): string {
  const total = totalBytes === undefined ? '' : sizeText(totalBytes)
  const percent = doneBytes !== undefined && totalBytes ? `, ${Math.floor((100 * doneBytes) / totalBytes)} %` : ''
  const numbers = doneBytes === undefined ? total : `${sizeText(doneBytes)}${total && ` of ${total}`}${percent}`
  return `${STEPS[step]}${numbers && ` ${numbers}`}${detail === undefined ? '' : ` (${detail})`}`
}
