import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Box, bootBox, BoxError } from '@boxlab/harness'
import { explainFailure } from '../../packages/harness/src/failure/explain-failure.ts'
import { boots, commandBox, commands, HostLacks } from './boots.ts'
import { alwaysFixtures } from './fixtures.ts'
import { keyOf } from './page.ts'

/** What all failures gave, by `keyOf`: the error, or why this host cannot have it. */
export interface Collected {
  readonly errors: ReadonlyMap<string, BoxError>
  readonly lacks: ReadonlyMap<string, string>
  /** The folder that paths in the errors name. It is gone. */
  readonly scratch: string
}

/** Makes them all fail, one after the other, in about 50 s. Nothing is left of it. */
export async function collectFailures(): Promise<Collected> {
  const scratch = mkdtempSync(join(tmpdir(), 'boxlab-failures-'))
  const errors = new Map<string, BoxError>()
  const lacks = new Map<string, string>()
  try {
    for (const [cause, fail] of Object.entries(boots)) {
      try {
        errors.set(cause, asBoxError(cause, await fail(folderFor(scratch, cause))))
      } catch (error) {
        if (!(error instanceof HostLacks)) throw error
        lacks.set(cause, error.message)
      }
    }
    await collectCommands(errors)
    for (const [cause, { code, message, evidence }] of Object.entries(alwaysFixtures)) {
      const record = folderFor(scratch, cause)
      writeFileSync(join(record, 'console.bin'), evidence.console ?? '')
      const error = await explainFailure(new BoxError(code, message), {
        doing: 'boot',
        record,
        options: { accel: 'tcg' },
      })
      errors.set(cause, asBoxError(cause, error))
    }
    return { errors, lacks, scratch }
  } finally {
    for (const { record } of errors.values()) if (record !== undefined) rmSync(record, { recursive: true, force: true })
    rmSync(scratch, { recursive: true })
  }
}

async function collectCommands(errors: Map<string, BoxError>): Promise<void> {
  await using box: Box = await bootBox(commandBox)
  for (const [cause, fail] of Object.entries(commands)) {
    errors.set(keyOf({ cause, command: true }), asBoxError(cause, await fail(box)))
  }
}

function folderFor(scratch: string, cause: string): string {
  const folder = join(scratch, cause)
  mkdirSync(folder)
  return folder
}

function asBoxError(cause: string, error: unknown): BoxError {
  if (error instanceof BoxError) return error
  throw new Error(`${cause} gave no BoxError`, { cause: error })
}
