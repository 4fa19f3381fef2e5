import type { ImageContext, ImageProgress } from './root-image.ts'

/** Tells that a step begins (without numbers), or how far it is. */
export type StepProgress = (step: ImageProgress['step'], more?: Omit<ImageProgress, 'source' | 'step'>) => void

const INTERVAL_MS = 100

/** Passes a step's beginning on at once, and numbers ten times a second. */
export function progressOf({ progress }: ImageContext, source: string): StepProgress {
  let lastMs = 0
  return (step, more) => {
    const nowMs = performance.now()
    if (more?.doneBytes !== undefined && nowMs - lastMs < INTERVAL_MS) return
    lastMs = nowMs
    progress?.({ source, step, ...more })
  }
}

/** Counts what flows by. */
export async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  onBytes: (done: number) => void,
): AsyncGenerator<Uint8Array> {
  let done = 0
  for await (const chunk of chunks) {
    done += chunk.length
    onBytes(done)
    yield chunk
  }
}
