import { accessSync, constants } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { BoxError } from '@boxlab/native'

const program = 'qemu-system-x86_64'

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The absolute path of the QEMU to use: the given one, or the first on PATH. */
export function findEngine(given: string | undefined, environment: NodeJS.ProcessEnv = process.env): string {
  const name = given ?? program
  const places = name.includes('/')
    ? [resolve(name)]
    : (environment['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name))
  const found = places.find(executable)
  if (found) return found
  const remedy = given ? 'give the path of a QEMU in `engine`' : 'install it (Debian: apt-get install qemu-system-x86)'
  throw new BoxError('ERR_BOX_SPAWN', `the engine \`${name}\` is not there: ${remedy}`)
}
