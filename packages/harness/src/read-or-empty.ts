import { readdirSync, readFileSync } from 'node:fs'

// For what may go away at any instant, such as a process under /proc: that it is not there any more is no error.

/** The names in a folder; none where it cannot be read. */
export function namesOrNone(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** The text of a file; empty where it cannot be read. */
export function textOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
