import {
  noUser,
  notInstalled,
  missingHostKeys,
  badConfig,
  elsewhere,
  notRunning,
  turnedAway,
  beforeBanner,
  keyExchange,
} from './refusal-before-login.ts'
import {
  rootLoginOff,
  publicKeysOff,
  moreThanAKey,
  nologin,
  userNotAllowed,
  wrongModes,
  otherKeys,
  authentication,
  session,
  shell,
} from './refusal-of-user.ts'
import { because, bound, type ExplainedRefusal, heard, type Refusal, type Rule } from './refusal-words.ts'
import type { SshEvent } from './ssh-lines.ts'

/** Tells why a login was refused: by the first rule of its step that holds, and where none does it was too slow. */
export function explainRefusal(refusal: Refusal): ExplainedRefusal {
  for (const rule of RULES[refusal.at]) {
    const explained = rule(refusal)
    if (explained !== undefined) return explained
  }
  return because('too-slow', `the login did not end after ${refusal.at}${bound(refusal)}${heard(refusal)}`)
}

// By the step that was reached last: what is looked at, in order.
const RULES: { readonly [at in SshEvent]: readonly Rule[] } = {
  dial: [noUser, notInstalled, missingHostKeys, badConfig, elsewhere, notRunning],
  accept: [turnedAway, missingHostKeys, badConfig, beforeBanner],
  banner: [missingHostKeys, keyExchange],
  kex: [rootLoginOff, publicKeysOff, moreThanAKey, nologin, userNotAllowed, wrongModes, otherKeys, authentication],
  auth: [session],
  session: [shell],
  'first-output': [shell],
  closed: [shell],
}
