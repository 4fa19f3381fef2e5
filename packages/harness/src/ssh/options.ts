import { refuse } from '../check-options.ts'

/** How to log in. */
export interface SshFirstOptions {
  /** Who logs in. Default `root`. */
  readonly user?: string
  /** The server's port on the guest's loopback. Default 22. */
  readonly port?: number
  /** How many logins, one after the other. Default 2. */
  readonly logins?: number
  /** What each login runs; it must print something and succeed. Default `echo logged in`. */
  readonly command?: string
  /** One login more at the end, while so many busy loops run in the guest. Default: none. */
  readonly load?: { readonly cpus: number }
  /** The bound of each login, in milliseconds, with its wait for the port. Default 60 000. */
  readonly timeoutMs?: number
  /** Ends it at once, with ERR_BOX_ABORTED. */
  readonly signal?: AbortSignal | undefined
}

/** The options with their defaults. */
export type SshFirstOrder = Required<Omit<SshFirstOptions, 'load' | 'signal'>> &
  Pick<SshFirstOptions, 'load' | 'signal'>

/** Checks the options; a refusal is a `BoxError` with ERR_BOX_OPTIONS that names the one. */
export function sshFirstOrder(options: SshFirstOptions): SshFirstOrder {
  const { user = 'root', port = 22, logins = 2, command = 'echo logged in', timeoutMs = 60_000, load, signal } = options
  // useradd(8) takes no more than this, and sshd is given it on a command line.
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]*\$?$/.test(user))
    refuse(`\`user\` must be the name of a user, not ${JSON.stringify(user)}`)
  if (!Number.isInteger(port) || port < 1 || port > 65_535) refuse(`\`port\` must be from 1 to 65535, not ${port}`)
  if (!Number.isInteger(logins) || logins < 1 || logins > 100) refuse(`\`logins\` must be from 1 to 100, not ${logins}`)
  if (command.trim() === '' || command.includes('\0')) refuse('`command` must be a line for the shell of the user')
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1) {
    refuse(`\`timeoutMs\` must be a whole number of milliseconds of 1 or more, not ${timeoutMs}`)
  }
  if (load !== undefined && (!Number.isInteger(load.cpus) || load.cpus < 1 || load.cpus > 255)) {
    refuse(`\`load.cpus\` must be from 1 to 255, not ${load.cpus}`)
  }
  return { user, port, logins, command, timeoutMs, ...(load && { load }), ...(signal && { signal }) }
}
