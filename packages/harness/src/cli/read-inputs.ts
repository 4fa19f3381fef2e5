import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { NamedInput } from '@boxlab/probes'
import { type SystemdFile, systemdInputs } from '../systemd/record-texts.ts'

/**
 * Reads files whole, as inputs of a probe; of a folder, which is a record, those files that the probe needs. Where something
 * cannot be read: the sentence for a person, which ends with `remedy`.
 */
export function readInputs(
  paths: readonly string[],
  remedy: string,
  ofRecord: readonly SystemdFile[],
): readonly NamedInput[] | string {
  const inputs: NamedInput[] = []
  for (const path of paths) {
    try {
      if (statSync(path).isDirectory()) {
        const found = systemdInputs(path, ofRecord)
        if (found.length === 0)
          return `boxlab: the record ${path} has nothing of systemd; boot with \`record: { jobs: true }\`\n`
        inputs.push(...found.map(({ name, input }) => ({ name: join(path, name), input })))
      } else inputs.push({ name: path, input: readFileSync(path) })
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? String(error)
      return `boxlab: ${path} cannot be read (${why}); ${remedy}\n`
    }
  }
  return inputs
}
