import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'

/** The absolute path of the first program of this name on PATH, then in `more`; undefined where there is none. */
export function findProgram(
  name: string,
  environment: NodeJS.ProcessEnv = process.env,
  more: readonly string[] = [],
): string | undefined {
  const folders = [...(environment['PATH']?.split(delimiter) ?? []), ...more]
  return folders.map((folder) => resolve(folder, name)).find(isProgram)
}

/** Whether this path is a file that may be run. */
export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    // A folder may be "run" as well.
    return statSync(path).isFile()
  } catch {
    return false
  }
}
