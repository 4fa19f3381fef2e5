import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BoxError } from '@boxlab/native'
import { SSH_FILE } from '@boxlab/probes'

/** The file of a record that tells of logins, for one call. */
export interface SshFile {
  /** Adds a line; it goes to the disk without anybody waiting for it. */
  add(line: object): void
  /** Everything that was added, once it is written. Fails with ERR_BOX_RECORD. */
  end(): Promise<string>
}

/** Opens the file to add a call to it. */
export function openSshFile(record: string): SshFile {
  const added: string[] = []
  let written = Promise.resolve()
  let failure: unknown
  const path = join(record, SSH_FILE)
  return {
    add(value) {
      const line = `${JSON.stringify(value)}\n`
      added.push(line)
      written = written.then(async () => appendFile(path, line)).catch((error: unknown) => void (failure ??= error))
    },
    async end() {
      await written
      if (failure === undefined) return added.join('')
      const { message } = failure as Error
      throw new BoxError('ERR_BOX_RECORD', `the logins could not be written into the record: ${message}`, { record })
    },
  }
}
