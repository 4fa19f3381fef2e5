import { BoxError } from '@boxlab/native'
import { type Guest, guestScript } from './guest.ts'

/**
 * Adds the line to the user's authorized_keys unless it is there. What it makes belongs to the user and to nobody else;
 * what was there keeps owner and mode, since sshd may refuse it for them, which is then the finding.
 */
const script = `
set -eu
umask 077
entry=$(getent passwd "$1" 2>/dev/null || grep "^$1:" /etc/passwd) || exit 10
home=$(printf '%s' "$entry" | cut -d: -f6)
owner=$(printf '%s' "$entry" | cut -d: -f3,4)
[ -d "$home" ] || exit 11
keys=$home/.ssh/authorized_keys
[ -d "$home/.ssh" ] || { mkdir "$home/.ssh"; chown "$owner" "$home/.ssh"; }
[ -e "$keys" ] || { : > "$keys"; chown "$owner" "$keys"; }
grep -qxF "$2" "$keys" && exit 0
[ -z "$(tail -c 1 "$keys")" ] || echo >> "$keys"
printf '%s\\n' "$2" >> "$keys"
`

/** Lets the key in as the user; gives why the user cannot have one. Fails with ERR_BOX_REFUSED where it cannot be written. */
export async function authorize(
  guest: Guest,
  user: string,
  publicLine: string,
): Promise<'unknown' | 'no-home' | undefined> {
  const { exitCode, stderr } = await guestScript(guest, script, [user, publicLine])
  if (exitCode === 0) return undefined
  if (exitCode === 10) return 'unknown'
  if (exitCode === 11) return 'no-home'
  const said = stderr.toString().trim().split('\n').at(-1) ?? ''
  const message = `the key for the login could not be put into authorized_keys of ${user}: ${said || `exit code ${exitCode}`}`
  throw new BoxError('ERR_BOX_REFUSED', message)
}
