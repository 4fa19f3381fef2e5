import {
  DETERMINISTIC_KINDS,
  EXIT_KIND_NAMES,
  EXIT_KINDS,
  type ExitKind,
  type ExitsPhase,
  type ExitsReport,
  type ExitsResult,
  renderExits,
} from '@boxlab/probes'
import { expect } from 'vitest'
import { Box } from '../box.ts'
import type { Answer } from './answer.ts'

/** A bound of exits. `about` with `percent` is a band around a number. */
export type ExitsBound =
  | { readonly min?: number; readonly max?: number }
  | { readonly about: number; readonly percent: number }

/**
 * What is expected of a phase, by kind. A plain number is exact, and is taken only for kinds that the guest's code decides
 * alone (`io`, `mmio`, `hypercalls`); the others need a band.
 */
export type ExpectedExits = { readonly [kind in ExitKind]?: ExitsBound | number } & {
  /** `firmware`, `kernel`, `initrd`, `userspace`, `before login`, `first login`, `idle`, `user:console:TEXT`; default all of the boot so far. */
  readonly phase?: string
}

/**
 * Questions to KVM's counters. Takes a box that was booted with `record: { counters: true }`, or a result of `exits()`; is
 * awaited. A kind that this host cannot measure, and a phase that was not sampled, is an error, also behind `not`.
 */
export interface ExitsMatchers<R = unknown> {
  toHaveExits(expected: ExpectedExits): Promise<R>
}

declare module 'vitest' {
  interface Matchers<R, T> extends ExitsMatchers<R> {}
}

/** The matchers, for `expect.extend`; importing `@boxlab/harness/vitest` has done that. */
export const exitsMatchers: { toHaveExits(received: unknown, expected: ExpectedExits): Promise<Answer> } = {
  async toHaveExits(received, expected) {
    const bounds = boundsOf(expected)
    const result = await ask(received)
    if (!result.found) throw new Error(result.message)
    const phase = phaseOf(result, expected.phase)
    const held = bounds.map(([kind, bound]) => judge(kind, bound, phase, result))
    const sentences = held.map(({ sentence }) => sentence).join('; ')
    const message = (): string => `in ${phase.name} (kvm, n=1) ${sentences}\n\n${renderExits(result)}`
    return { pass: held.every(({ pass }) => pass), message }
  },
}

async function ask(received: unknown): Promise<ExitsResult> {
  if (received instanceof Box) return received.exits()
  const result = received as ExitsResult | null
  if (typeof result !== 'object' || result === null || !('found' in result) || !('absent' in result)) {
    throw new TypeError('`toHaveExits` takes a box or a result of exits(), and this is neither')
  }
  return result
}

function boundsOf(expected: ExpectedExits): [ExitKind, ExitsBound | number][] {
  const bounds: [ExitKind, ExitsBound | number][] = []
  for (const [key, bound] of Object.entries(expected)) {
    if (key === 'phase' || bound === undefined) continue
    const kind = EXIT_KIND_NAMES.find((name) => name === key)
    if (kind === undefined) {
      throw new TypeError(`\`toHaveExits\`: '${key}' is no kind of exit; known are ${EXIT_KIND_NAMES.join(', ')}`)
    }
    const numbers = Object.values(typeof bound === 'number' ? { exact: bound } : (bound as object)) as unknown[]
    if (numbers.length === 0 || numbers.some((one) => typeof one !== 'number' || !(one >= 0))) {
      throw new TypeError(`\`toHaveExits\`: '${kind}' takes a number, { min, max } or { about, percent }`)
    }
    if (typeof bound === 'number' && !DETERMINISTIC_KINDS.has(kind)) {
      const band = `${kind}: { about: ${bound}, percent: 10 }`
      throw new TypeError(
        `\`toHaveExits\`: '${kind}' differs from boot to boot, so no exact number holds: give ${band}`,
      )
    }
    bounds.push([kind, bound as ExitsBound | number])
  }
  if (bounds.length === 0) throw new TypeError('`toHaveExits` needs a kind to judge, such as mmio: { max: 700 }')
  return bounds
}

function phaseOf({ phases, total, findings }: ExitsReport, name: string | undefined): ExitsPhase {
  const phase = name === undefined ? total : phases.find((one) => one.name === name)
  if (phase) return phase
  if (name === undefined) throw new Error('the samples are of several VMs, so there is no total: name a phase')
  const why = findings.filter(({ message }) => message.includes(name)).map(({ message }) => `; ${message}`)
  throw new Error(`there is no phase ${name}; sampled were ${phases.map((one) => one.name).join(', ')}${why.join('')}`)
}

function judge(
  kind: ExitKind,
  bound: ExitsBound | number,
  { kinds }: ExitsPhase,
  { absent, findings }: ExitsReport,
): { readonly pass: boolean; readonly sentence: string } {
  const value = kinds[kind]
  if (value === undefined) {
    const names: readonly string[] = kind === 'total' ? ['exits'] : kind === 'rest' ? ['rest'] : EXIT_KINDS[kind]
    const overlap = kind === 'rest' ? findings.find(({ name }) => name === 'kinds-overlap')?.message : undefined
    const why = absent.find(({ name }) => names.includes(name))?.why ?? overlap ?? 'it has no value in this phase'
    throw new Error(`${kind} exits cannot be judged: ${why}`)
  }
  const [min, max, words] = edges(bound)
  return { pass: value >= min && value <= max, sentence: `${kind} exits are ${value}, and ${words}` }
}

function edges(bound: ExitsBound | number): readonly [min: number, max: number, words: string] {
  if (typeof bound === 'number') return [bound, bound, `exactly ${bound} are expected`]
  if ('about' in bound) {
    const { about, percent } = bound
    const width = (about * percent) / 100
    return [about - width, about + width, `${about} ± ${percent} % are expected`]
  }
  const { min = 0, max = Infinity } = bound
  const words = [
    ...(bound.min === undefined ? [] : [`at least ${min}`]),
    ...(bound.max === undefined ? [] : [`at most ${max}`]),
  ]
  return [min, max, `${words.join(' and ')} are expected`]
}

expect.extend(exitsMatchers)
