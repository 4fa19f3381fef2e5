import { because, clientSaid, heard, offers, type Rule } from './refusal-words.ts'

/** Root may not. */
export const rootLoginOff: Rule = ({ user, evidence: { config } }) => {
  const setting = config?.['permitrootlogin']
  if (user !== 'root' || (setting !== 'no' && setting !== 'forced-commands-only')) return undefined
  return because(
    'root-login-off',
    `sshd does not let root in by a key: PermitRootLogin is ${setting}; set prohibit-password, or log in as another \`user\``,
  )
}

/** Nobody may, by a key. */
export const publicKeysOff: Rule = ({ evidence: { config, methods } }) =>
  config?.['pubkeyauthentication'] === 'no'
    ? because(
        'public-keys-off',
        `sshd takes no keys: PubkeyAuthentication is no${offers(methods)}; a login here needs it`,
      )
    : undefined

/** The key is not enough. */
export const moreThanAKey: Rule = ({ evidence: { partial, methods, config } }) =>
  partial === true
    ? because(
        'more-than-a-key',
        `sshd took the key and wants more${offers(methods)}: AuthenticationMethods is ${config?.['authenticationmethods'] ?? 'set'}`,
      )
    : undefined

/** The boot, or a shutdown, keeps users out (pam_nologin(8)). */
export const nologin: Rule = ({ user, evidence: { nologin: present } }) =>
  user !== 'root' && present === true
    ? because(
        'nologin',
        `only root may log in while /run/nologin is there: ask once systemd-user-sessions.service is done, or as root`,
      )
    : undefined

/** sshd says that this user may not. */
export const userNotAllowed: Rule = ({ user, evidence: { journal } }) => {
  const line = journal?.find((each) => / not allowed because /.test(each))
  if (line === undefined) return undefined
  const reason = line.replace(/^.* not allowed because /, '')
  return because(
    'user-not-allowed',
    `sshd does not let ${user} in because ${reason}: check sshd_config and the user’s entry`,
  )
}

/** What sshd's StrictModes refuses (misc.c, safe_path()): writable by others, or of another owner. */
export const wrongModes: Rule = ({ user, evidence: { modes, config } }) => {
  if (config?.['strictmodes'] === 'no') return undefined
  const bad = modes?.find(
    ({ mode, owner }) => (Number.parseInt(mode, 8) & 0o022) !== 0 || (owner !== 'root' && owner !== user),
  )
  return bad === undefined
    ? undefined
    : because(
        'wrong-modes',
        `sshd does not trust the keys of ${user}: ${bad.path} is ${bad.mode} of ${bad.owner}, and only ${user} may write there (StrictModes)`,
      )
}

/** sshd looks for keys elsewhere. */
export const otherKeys: Rule = ({ user, evidence: { config } }) => {
  const files = config?.['authorizedkeysfile']
  return files === undefined || files.split(' ').some((file) => /^(?:%h\/)?\.ssh\/authorized_keys$/.test(file))
    ? undefined
    : because(
        'other-authorized-keys',
        `sshd looks for keys of ${user} in ${files} and not in .ssh/authorized_keys: set AuthorizedKeysFile`,
      )
}

/** Whatever else keeps the user out. */
export const authentication: Rule = (refusal) =>
  refusal.evidence.timedOutMs === undefined
    ? because(
        'authentication-refused',
        `sshd did not let ${refusal.user} in by its key${offers(refusal.evidence.methods)}${clientSaid(refusal)}${heard(refusal)}`,
      )
    : undefined

/** Let in, and no session. */
export const session: Rule = (refusal) =>
  refusal.evidence.timedOutMs === undefined
    ? because('session-refused', `${refusal.user} was let in and got no session${clientSaid(refusal)}${heard(refusal)}`)
    : undefined

/** What became of the command. sshd itself exits with 254 where pam_open_session failed (session.c, do_child()). */
export const shell: Rule = (refusal) => {
  const { user, evidence } = refusal
  const { exitCode, exitSignal, output, timedOutMs, shell: program } = evidence
  if (timedOutMs !== undefined) return undefined
  const ended = exitSignal === undefined ? `exit code ${exitCode ?? 'unknown'}` : `signal ${exitSignal}`
  const said = output === undefined ? 'without a word' : `after it said '${output}'`
  if (exitCode === 254 || evidence.journal?.some((line) => /pam_open_session|PAM: .*session/i.test(line)) === true) {
    return because(
      'pam-session',
      `PAM did not open a session for ${user} (${ended}): check /etc/pam.d/sshd${heard(refusal)}`,
    )
  }
  if (/\/(?:nologin|false)$/.test(program ?? '')) {
    return because(
      'no-shell',
      `the shell of ${user} is ${program}, which ends at once: give it a shell, or another \`user\``,
    )
  }
  return because(
    'shell-ended',
    `the session of ${user} ended with ${ended} ${said}: check the shell (${program ?? 'not known'}) and \`command\``,
  )
}
