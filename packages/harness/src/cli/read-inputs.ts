import { readFileSync } from 'node:fs'
import type { NamedInput } from '@boxlab/probes'

/** Reads files whole, as inputs of a probe; where one cannot be read, the sentence for a person, which ends with `remedy`. */
export function readInputs(files: readonly string[], remedy: string): readonly NamedInput[] | string {
  const inputs: NamedInput[] = []
  for (const name of files) {
    try {
      inputs.push({ name, input: readFileSync(name) })
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? String(error)
      return `boxlab: ${name} cannot be read (${why}); ${remedy}\n`
    }
  }
  return inputs
}
