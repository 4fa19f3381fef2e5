import type { SshFirst, SshFirstResult, SshRefusalCause } from '@boxlab/probes'
import { expect } from 'vitest'
import { Box } from '../box.ts'
import { durationMs } from '../duration.ts'
import { readSshFirst } from '../reports/record-ssh-first.ts'
import type { Answer } from './answer.ts'
import type { Within } from './matchers.ts'

/** Bounds of logins. */
export interface ToLogInOptions {
  /** The first login's first output came no later after kernel start. */
  readonly within?: Within
  /** The second login took no longer, from the port's accept to its first output. */
  readonly second?: { readonly within?: Within }
}

/** What boxlab adds to vitest's `expect` for logins. */
export interface SshMatchers<R = unknown> {
  /**
   * Somebody could log in: of the result of `box.sshFirst()`, or of a box on which it was called, whose first call counts. A
   * time that is not known, or only as an upper bound beyond the limit, is an error and never a pass.
   */
  toLogIn(options?: ToLogInOptions): R
  /** A login was refused, for this cause where one is given. */
  toRefuseLogin(cause?: SshRefusalCause): R
}

declare module 'vitest' {
  interface Matchers<R, T> extends SshMatchers<R> {}
}

function loginsOf(received: unknown, matcher: string): SshFirst {
  const result = received instanceof Box ? readSshFirst(received.record) : (received as SshFirstResult | undefined)
  if (result?.found === true && Array.isArray(result.logins)) return result
  if (result?.found === false) throw new Error(result.message)
  throw new TypeError(`\`${matcher}\` takes a box or what \`box.sshFirst()\` gave, and this is neither`)
}

/** The matchers of logins, for `expect.extend`. */
export const sshMatchers: {
  toLogIn(received: unknown, options?: ToLogInOptions): Answer
  toRefuseLogin(received: unknown, cause?: SshRefusalCause): Answer
} = {
  toLogIn(received, { within, second } = {}) {
    const result = loginsOf(received, 'toLogIn')
    const firstMs = within === undefined ? undefined : durationMs(within, 'within')
    const secondMs = second?.within === undefined ? undefined : durationMs(second.within, 'second.within')
    const { refused, logins, accelerator = 'accelerator not proved' } = result
    if (refused) {
      const message = `login ${refused.login} was refused (${refused.cause}): ${refused.why}`
      return { pass: false, message: () => message }
    }
    const done = logins.filter(({ tookUs }) => tookUs !== undefined).length
    const wanted = second === undefined ? 1 : 2
    if (done < wanted) {
      return { pass: false, message: () => `there are ${done} logins with an output, and ${wanted} are asked for` }
    }
    const held = [
      ...(firstMs === undefined ? [] : [firstWithin(result, firstMs)]),
      ...(secondMs === undefined ? [] : [secondWithin(result, secondMs)]),
    ]
    const sentences = held.map(({ what, boundMs }) => `${what} (${accelerator}, n=1), and the bound is ${boundMs} ms`)
    const message = sentences.length === 0 ? `${result.user} logged in ${done} times` : sentences.join('; ')
    return { pass: held.every(({ pass }) => pass), message: () => message }
  },
  toRefuseLogin(received, cause) {
    const { refused, user } = loginsOf(received, 'toRefuseLogin')
    if (!refused) return { pass: false, message: () => `no login of ${user} was refused` }
    const message = `login ${refused.login} was refused (${refused.cause}): ${refused.why}`
    return { pass: cause === undefined || refused.cause === cause, message: () => message }
  },
}

interface Held {
  readonly pass: boolean
  readonly what: string
  readonly boundMs: number
}

function firstWithin({ logins: [first], errorUs = 0, clock }: SshFirst, boundMs: number): Held {
  if (first?.firstOutputUs === undefined) {
    const why = clock.state === 'mapped' ? 'it has no output' : clock.why
    throw new Error(`when the first login was after kernel start is not known: ${why}`)
  }
  const [ms, errorMs] = [first.firstOutputUs / 1000, errorUs / 1000]
  const what = `the first login was done ${ms.toFixed(1)} ms after kernel start`
  if (Math.abs(ms - boundMs) < errorMs) {
    throw new Error(`${what}, give or take ${errorMs.toFixed(1)} ms, and the bound of ${boundMs} ms lies within that`)
  }
  if (ms > boundMs && first.acceptedAtOnce === true) {
    throw new Error(
      `${what}, but the port was open before it was tried, so an earlier login may have been possible: boot with \`waitFor: Wait.forMark('agent-ready')\` and call \`sshFirst\` at once`,
    )
  }
  return { pass: ms <= boundMs, what, boundMs }
}

function secondWithin({ logins: [, second] }: SshFirst, boundMs: number): Held {
  if (second?.tookUs === undefined) throw new Error('how long the second login took is not known: it has no output')
  const ms = second.tookUs / 1000
  return { pass: ms <= boundMs, what: `the second login took ${ms.toFixed(1)} ms`, boundMs }
}

expect.extend(sshMatchers)
