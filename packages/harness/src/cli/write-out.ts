import { writeFileSync } from 'node:fs'

/** Writes a file beside the answer; where that fails it is one sentence and exit code 1. */
export function writeOut(path: string, text: string): 0 | 1 {
  try {
    writeFileSync(path, text)
    return 0
  } catch (error) {
    process.stderr.write(`boxlab: ${path} cannot be written: ${(error as Error).message}\n`)
    return 1
  }
}
