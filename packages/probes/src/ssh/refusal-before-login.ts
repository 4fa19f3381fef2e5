import { because, bound, clientSaid, heard, isActive, type Rule } from './refusal-words.ts'

/** The user cannot be logged in at all. */
export const noUser: Rule = ({ user, evidence }) => {
  if (evidence.user === 'unknown')
    return because('no-such-user', `the guest has no user ${user}: name one of its passwd file with \`user\``)
  if (evidence.user === 'no-home')
    return because(
      'no-home',
      `the home of ${user} is not in the guest, so sshd finds no key there: make it in the image`,
    )
  return undefined
}

/** There is no sshd. */
export const notInstalled: Rule = ({ evidence: { sshd } }) =>
  sshd === '' ? because('not-installed', 'the guest has no sshd: add openssh-server to its packages') : undefined

/** sshd has no host key, with which it does not start. */
export const missingHostKeys: Rule = (refusal) => {
  const { hostKeys, test } = refusal.evidence
  const words = test === undefined ? undefined : /.*no hostkeys available.*/i.exec(test.said)?.[0]
  // Keys may also lie where only HostKey of sshd_config says, so their absence alone is no cause where sshd is content.
  if (words === undefined && !(hostKeys === 0 && test?.exitCode !== 0)) return undefined
  const how =
    refusal.at === 'dial'
      ? `nothing listens on port ${refusal.port}`
      : 'sshd took the connection and dropped it before its banner'
  const seen = words === undefined ? '/etc/ssh/ssh_host_*_key: none' : `\`sshd -t\`: ${words}`
  return because(
    'missing-host-keys',
    `${how}, since the guest has no host keys (${seen}): run \`ssh-keygen -A\` in it before sshd starts`,
  )
}

/** sshd does not start with its configuration. */
export const badConfig: Rule = ({ evidence: { test } }) => {
  if (test === undefined || test.exitCode === 0) return undefined
  // An instance of sshd@.service makes that folder itself; between two of them it is not there.
  const lines = test.said.split('\n').filter((line) => line !== '' && !/privilege separation directory/i.test(line))
  if (lines.length === 0) return undefined
  return because('bad-config', `sshd does not start with its configuration: \`sshd -t\` says '${lines.at(-1)}'`)
}

/** sshd listens somewhere else. */
export const elsewhere: Rule = ({ port, evidence: { listening, config, units } }) => {
  const here = listening?.filter((address) => address.endsWith(`:${port}`)) ?? []
  // One that a connection to the loopback reaches was opened only when the bound had come.
  if (here.length > 0 && !here.some((address) => /^(?:0\.0\.0\.0|127\.0\.0\.1|\[::1?\]):/.test(address))) {
    return because(
      'other-address',
      `port ${port} is open on ${here.join(', ')} only, and logins here come over the guest’s loopback: check ListenAddress`,
    )
  }
  const set = config?.['port']
  if (set === undefined || set === String(port) || !isActive(units)) return undefined
  return because('other-port', `sshd listens on port ${set} and not on ${port}: set \`port: ${set}\``)
}

/** Nobody listens: by the state of the units. */
export const notRunning: Rule = (refusal) => {
  const { port, evidence } = refusal
  const { units, system, sshd } = evidence
  const seen = `port ${port} did not accept${bound(refusal)}`
  const states = Object.entries(units ?? {}).map(([unit, state]) => `${unit} is ${state}`)
  const none = units === undefined ? ': no unit of systemd’s runs it' : ''
  const said = states.length === 0 ? none : `: ${states.join(', ')}`
  if (system === 'initializing' || system === 'starting') {
    return because(
      'not-started-yet',
      `${seen}, and the boot is not over (systemd is ${system})${said}; give it more with \`timeoutMs\``,
    )
  }
  if (isActive(units)) return because('not-listening', `${seen}${said}${heard(refusal)}`)
  const remedy = sshd === undefined ? '' : '; start it in the boot (`systemctl enable ssh.service`)'
  return because('not-running', `${seen}${said}${remedy}${heard(refusal)}`)
}

/** sshd says itself that it does not want to. */
export const turnedAway: Rule = ({ evidence: { said } }) => {
  if (said === undefined) return undefined
  if (said.startsWith('Not allowed at this time')) {
    return because(
      'source-penalty',
      `sshd turned the connection away for earlier failures of this address ('${said}'): wait, or set PerSourcePenalties`,
    )
  }
  return said.startsWith('Exceeded MaxStartups')
    ? because('too-many-logins', `sshd has too many logins under way ('${said}'): raise MaxStartups`)
    : undefined
}

/** The connection ended, or nothing came, before the version line. */
export const beforeBanner: Rule = (refusal) => {
  const { evidence } = refusal
  const said = evidence.said === undefined ? '' : ` after it said '${evidence.said}'`
  if (evidence.timedOutMs !== undefined) {
    return because('no-banner', `the port accepted and no banner came${bound(refusal)}${said}${heard(refusal)}`)
  }
  return because(
    'dropped-before-banner',
    `the connection was accepted and dropped before the banner${said}${heard(refusal)}`,
  )
}

/** Client and server found no common way. */
export const keyExchange: Rule = (refusal) =>
  refusal.evidence.timedOutMs === undefined
    ? because('key-exchange-failed', `the key exchange failed${clientSaid(refusal)}${heard(refusal)}`)
    : undefined
