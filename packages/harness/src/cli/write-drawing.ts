import { writeFileSync } from 'node:fs'

/** Writes a drawing beside the answer; where that fails it is one sentence and exit code 1. */
export function writeDrawing(path: string, svg: string): 0 | 1 {
  try {
    writeFileSync(path, svg)
    return 0
  } catch (error) {
    process.stderr.write(`boxlab: the drawing cannot be written: ${(error as Error).message}\n`)
    return 1
  }
}
