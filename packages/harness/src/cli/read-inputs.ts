import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { NamedInput } from '@boxlab/probes'
import { type SystemdFile, systemdInputs } from '../systemd/record-texts.ts'

/** Where a probe finds its inputs, and what a person is told who gave others. */
export interface InputsWanted {
  /** What of a record the probe reads; nothing where the record has none of it. */
  readonly ofRecord: (folder: string) => readonly NamedInput[]
  /** What such a record lacks, and how a record gets it. */
  readonly without: string
  /** What to give instead of a path that cannot be read. */
  readonly remedy: string
}

/** What systemd said in a record. */
export function ofSystemd(files: readonly SystemdFile[]): Omit<InputsWanted, 'remedy'> {
  return {
    ofRecord: (folder) => systemdInputs(folder, files).map(({ name, input }) => ({ name: join(folder, name), input })),
    without: 'nothing of systemd; boot with `record: { jobs: true }`',
  }
}

/**
 * Reads files whole, as inputs of a probe; of a folder, which is a record, what the probe needs. Where something cannot be read:
 * the sentence for a person.
 */
export function readInputs(
  paths: readonly string[],
  { ofRecord, without, remedy }: InputsWanted,
): readonly NamedInput[] | string {
  const inputs: NamedInput[] = []
  for (const path of paths) {
    try {
      if (statSync(path).isDirectory()) {
        const found = ofRecord(path)
        if (found.length === 0) return `the record ${path} has ${without}`
        inputs.push(...found)
      } else inputs.push({ name: path, input: readFileSync(path) })
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? String(error)
      return `${path} cannot be read (${why}); ${remedy}`
    }
  }
  return inputs
}
