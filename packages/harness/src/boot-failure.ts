import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { BoxError, describeFailure } from '@boxlab/native'
import { likelyCause } from '@boxlab/probes'

/** As much of a console's end as causes are looked for in. */
const consoleTailBytes = 1024 * 1024

/** What of a box its error does not know. */
export interface FailedBox {
  /** The folder of its record. */
  readonly record: string
  readonly memoryMib?: number | undefined
  readonly accelerator?: { readonly asked: string; readonly proved?: string } | undefined
}

/** Adds the likely cause of a failed boot to its error, from the record and the plan. Without one the error stays. */
export function explainFailure(error: BoxError, { record, memoryMib, accelerator }: FailedBox): BoxError {
  const { code, message } = error
  const cause = likelyCause({
    ...error.details(),
    code,
    message,
    ...(memoryMib !== undefined && { memoryMib }),
    ...(accelerator && { accelerator }),
    ...textOf('console', join(record, 'console.bin')),
    ...textOf('engineLog', join(record, 'engine.log')),
  })
  if (!cause) return error
  const likely = `${cause.sentence} ${cause.remedy}`
  const details = { ...error.details(), likelyCause: likely }
  return new BoxError(code, describeFailure(error.summary, details), details, { cause: error.cause })
}

/** The end of a file as a field of the evidence; no field where there is no such file. */
function textOf<Name extends string>(name: Name, path: string): { readonly [key in Name]?: string } {
  try {
    const file = openSync(path, 'r')
    try {
      const { size } = fstatSync(file)
      const bytes = Buffer.alloc(Math.min(size, consoleTailBytes))
      readSync(file, bytes, 0, bytes.length, size - bytes.length)
      return { [name]: bytes.toString() } as { [key in Name]: string }
    } finally {
      closeSync(file)
    }
  } catch {
    return {}
  }
}
