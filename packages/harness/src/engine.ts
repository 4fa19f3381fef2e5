import { resolve } from 'node:path'
import { BoxError } from '@boxlab/native'
import { findProgram, isProgram } from './find-program.ts'

const program = 'qemu-system-x86_64'

/** The absolute path of the QEMU to use: the given one, or the first on PATH. */
export function findEngine(given: string | undefined, environment: NodeJS.ProcessEnv = process.env): string {
  const name = given ?? program
  const found = name.includes('/') ? [resolve(name)].find(isProgram) : findProgram(name, environment)
  if (found !== undefined) return found
  const remedy = given ? 'give the path of a QEMU in `engine`' : 'install it (Debian: apt-get install qemu-system-x86)'
  throw new BoxError('ERR_BOX_SPAWN', `the engine \`${name}\` is not there: ${remedy}`)
}
