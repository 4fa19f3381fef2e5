import { BoxError, type Machine } from '@boxlab/native'
import { type ExecDefaults, execCommand, ExecError, type ExecResult } from '../exec.ts'

/** The guest that is logged in to. */
export interface Guest {
  readonly machine: Machine
  readonly signal?: AbortSignal | undefined
}

// What is done here is root's, whoever the box's own commands run as.
const asRoot: ExecDefaults = { env: {}, execMs: 20_000 }

/** Runs a script of /bin/sh as root, within 20 s. */
export async function guestScript(
  { machine, signal }: Guest,
  script: string,
  words: readonly string[] = [],
): Promise<ExecResult> {
  return execCommand(machine, ['/bin/sh', '-c', script, 'sh', ...words], { signal, maxOutputBytes: 1 << 20 }, asRoot)
}

/** What a script printed, also when it was cut short; a guest that has no shell printed nothing. */
export async function scriptOutput(guest: Guest, script: string, words: readonly string[]): Promise<string> {
  try {
    return (await guestScript(guest, script, words)).stdout.toString()
  } catch (error) {
    if (guest.signal?.aborted) throw error
    const cutShort = error instanceof ExecError && error.code.startsWith('ERR_BOX_EXEC_')
    if (cutShort) return error.stdout.toString()
    if (error instanceof BoxError && error.code === 'ERR_BOX_REFUSED') return ''
    throw error
  }
}
