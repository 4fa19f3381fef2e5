import { sizeText } from './byte-size.ts'
import type { ImageProgress } from './root-image.ts'

const STEPS: Readonly<Record<ImageProgress['step'], string>> = {
  fetch: 'fetching',
  unpack: 'reading',
  format: 'writing the image',
  rename: 'putting it into the cache',
}

/** How long an image may take before a suite's log tells of it. */
const quietMs = 2000

/** A line for each step and for each thing that a tool says; numbers of a step that was told already are left out. */
export function progressLines(tell: (line: string) => void): (event: ImageProgress) => void {
  let last = ''
  return (event) => {
    if (event.doneBytes !== undefined) return
    const line = `${event.source}: ${describeProgress(event)}`
    if (line !== last) tell(line)
    last = line
  }
}

/** The same for the log of a suite: nothing of an image that is there or made soon. */
export function slowProgress(tell: (line: string) => void = say): (event: ImageProgress) => void {
  const beganMs = performance.now()
  const lines = progressLines(tell)
  return (event) => {
    if (performance.now() - beganMs > quietMs) lines(event)
  }
}

function say(line: string): void {
  process.stderr.write(`boxlab: ${line}\n`)
}

/** What happens, in words. */
export function describeProgress({ step, doneBytes, totalBytes, detail }: ImageProgress): string {
  const total = totalBytes === undefined ? '' : sizeText(totalBytes)
  const percent = doneBytes !== undefined && totalBytes ? `, ${Math.floor((100 * doneBytes) / totalBytes)} %` : ''
  const numbers = doneBytes === undefined ? total : `${sizeText(doneBytes)}${total && ` of ${total}`}${percent}`
  return `${STEPS[step]}${numbers && ` ${numbers}`}${detail === undefined ? '' : ` (${detail})`}`
}
