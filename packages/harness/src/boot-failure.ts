import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { BoxError, describeFailure } from '@boxlab/native'
import { likelyCause } from '@boxlab/probes'
import type { Planned } from './plan.ts'

/** As much of a console's end as causes are looked for in. */
const consoleTailBytes = 1024 * 1024

/** Adds the likely cause of a failed boot to its error, from the record and the plan. Without one the error stays. */
export function explainFailure(error: BoxError, record: string, planned: Planned | undefined): BoxError {
  const { code, message, errno, lastMark, sinceMs, exit } = error
  const plan = planned?.plan
  const proved = provedAccelerator(record)
  const cause = likelyCause({
    code,
    message,
    ...(errno !== undefined && { errno }),
    ...(lastMark !== undefined && { lastMark }),
    ...(sinceMs !== undefined && { sinceMs }),
    ...(exit && { exit }),
    ...(plan && { memoryMib: plan.memoryMib }),
    ...(plan && { accelerator: { asked: plan.engine.asked, ...(proved !== undefined && { proved }) } }),
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

function provedAccelerator(record: string): string | undefined {
  try {
    const boot = JSON.parse(readFileSync(join(record, 'boot.json'), 'utf8')) as { accelerator?: { proved?: string } }
    return boot.accelerator?.proved
  } catch {
    return undefined
  }
}
