import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { NamedInput, WaitsOptions, WaitsReport } from '../../src/index.ts'
import { waits } from '../../src/index.ts'
import type { TextInput } from './a-systemd.ts'

/** The text of a fixture, of the folder's README. */
export function fixture(name: string): string {
  return gunzipSync(readFileSync(new URL(`./fixtures/${name}.gz`, import.meta.url))).toString('utf8')
}

/** Both inputs of a recorded boot: its units, and PID 1 itself. */
export function recording(boot: string): readonly [TextInput, TextInput] {
  return [
    { name: 'show.txt', input: fixture(`${boot}.show.txt`) },
    { name: 'manager.txt', input: fixture(`${boot}.manager.txt`) },
  ]
}

/** The report of a boot that has one; a refusal fails the test with its sentence. */
export function reportOf(inputs: readonly NamedInput[], options: WaitsOptions = {}): WaitsReport {
  const result = waits(inputs, options)
  if (!result.found) throw new Error(`no waits: ${result.message} ${JSON.stringify(result.diagnostics)}`)
  return result
}

/** A segment of golden.json: from, to, kind, unit. */
export type GoldenSegment = readonly [number, number, string, string]

/** The figures of one boot in golden.json, as far as they are tested. */
export interface GoldenBoot {
  readonly managerUs: { readonly [stamp: string]: number }
  readonly units: { readonly showAll: number }
  readonly paths: {
    readonly [target: string]: {
      readonly totalUs: number
      readonly units: readonly string[]
      readonly segments: readonly GoldenSegment[]
      readonly notWaitedFor: readonly { readonly unit: string; readonly after: string; readonly why: string }[]
    }
  }
  readonly gapsToMultiUser: {
    readonly count: number
    readonly sumUs: number
    readonly over5ms: readonly (readonly [number, number, number, string, string])[]
  }
  readonly prompt: {
    readonly gettyActiveUs: number
    readonly gettyForkUs: number
    readonly idleEndedBy: string
    readonly promptNotBeforeUs: number
  }
  readonly behindPrompt: readonly (readonly [number, number | null, string, string])[]
  readonly behindMultiUser: readonly (readonly [number, number | null, string])[]
  readonly releasedBy: { readonly [unit: string]: string | null }
}

/** The golden figures of the recorded boots. */
export const GOLDEN: { readonly [boot: string]: GoldenBoot } = JSON.parse(fixture('golden.json')) as {
  [boot: string]: GoldenBoot
}
