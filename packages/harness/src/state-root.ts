import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/**
 * The one folder of boxlab on this host: `BOXLAB_HOME`, else `$XDG_CACHE_HOME/boxlab`, else `~/.cache/boxlab`. It holds
 * `images/` (the content-addressed cache), `records/`, `ledger/` and, while boxes run, `boxes/`.
 */
export function stateRoot(environment: NodeJS.ProcessEnv = process.env): string {
  const given = environment['BOXLAB_HOME']
  if (given) return resolve(given)
  return join(environment['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'boxlab')
}
