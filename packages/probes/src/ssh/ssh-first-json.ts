import type { NoSshFirst, SshFirst, SshFirstResult } from './report.ts'

/** The result as it is stored: the same data with the name and version of its format (schema/ssh-first-v1.schema.json). */
export type SshFirstJson = { readonly format: 'boxlab-ssh-first'; readonly version: 1 } & (SshFirst | NoSshFirst)

/** The result as plain data for `JSON.stringify`. Absent values are left out, never null or 0. */
export function sshFirstJson(result: SshFirstResult): SshFirstJson {
  return { format: 'boxlab-ssh-first', version: 1, ...result }
}
