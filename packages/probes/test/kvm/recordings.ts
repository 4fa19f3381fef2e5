import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { exits, type ExitsOptions, type ExitsPhase, type ExitsReport, type NamedInput } from '../../src/index.ts'

/** The bytes of a fixture, of the folder's README. */
export function fixture(name: string): Uint8Array {
  return gunzipSync(readFileSync(new URL(`./fixtures/${name}.gz`, import.meta.url)))
}

/** A fixture as an input under its own name. */
export function recorded(name: string): NamedInput {
  return { name, input: fixture(name) }
}

/** The report of inputs that have one; a refusal fails the test with its sentence. */
export function reportOf(inputs: readonly NamedInput[], options: ExitsOptions = {}): ExitsReport {
  const result = exits(inputs, options)
  if (!result.found) throw new Error(`no exits: ${result.message} ${JSON.stringify(result.diagnostics)}`)
  return result
}

/** A phase of a report, which must have it. */
export function phase({ phases }: ExitsReport, name: string): ExitsPhase {
  const found = phases.find((one) => one.name === name)
  if (!found) throw new Error(`no phase ${name} among ${phases.map((one) => one.name).join(', ')}`)
  return found
}
