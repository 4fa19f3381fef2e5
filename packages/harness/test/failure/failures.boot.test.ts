import { readFileSync } from 'node:fs'
import { likelyCause } from '@boxlab/probes'
import { beforeAll, describe, expect, it } from 'vitest'
import { boots, commands } from '../../../../scripts/failures/boots.ts'
import { type Collected, collectFailures } from '../../../../scripts/failures/collect.ts'
import { alwaysFixtures, hostFixtures } from '../../../../scripts/failures/fixtures.ts'
import { essence, essencesOf, keyOf, sections } from '../../../../scripts/failures/page.ts'

const page = readFileSync(new URL('../../../../docs/failures.md', import.meta.url), 'utf8')
const shown = essencesOf(page)

describe('docs/failures.md', () => {
  let collected: Collected
  beforeAll(async () => {
    collected = await collectFailures()
  }, 240_000)

  it('shows every failure once', () => {
    const made = [
      ...Object.keys(boots),
      ...Object.keys(commands).map((cause) => keyOf({ cause, command: true })),
      ...Object.keys(alwaysFixtures),
    ]
    expect([...shown.keys()].toSorted()).toEqual(made.toSorted())
    expect(sections.map((section) => keyOf(section)).toSorted()).toEqual(made.toSorted())
  })

  /** The cause and what of its error stays the same; where this host cannot have it, of a recorded one. */
  function real(key: string): { readonly causeId: string | undefined; readonly essence: string } {
    const error = collected.errors.get(key)
    if (error !== undefined) return { causeId: error.causeId, essence: essence(error.code, error.message) }
    const fixture = hostFixtures[key]
    if (fixture === undefined) throw new Error(`${key} failed in no way, and no host lacks it`)
    const { code, message, evidence } = fixture
    const cause = likelyCause({ code, message, ...evidence })
    return { causeId: cause?.id, essence: essence(code, `\n  likely cause: ${cause?.sentence} ${cause?.remedy}`) }
  }

  it.each([...shown])('%s: a real one has the code and the likely cause of the page', (key, onPage) => {
    expect(real(key)).toEqual({ causeId: key.split(' ').at(-1), essence: onPage })
  })

  it('every one of a box tells where it was and how to boot it again', () => {
    const ofBoxes = [...collected.errors].filter(([key]) => Object.hasOwn(boots, key) || key === 'command guest-panic')
    expect(ofBoxes.length).toBeGreaterThan(12)
    const lacking = ofBoxes.filter(([, { code, message, record, lastMarks = [], reproduce }]) => {
      // Before the plan there is no command line yet.
      const planned = !/^ERR_(?:IMAGE_|BOX_ACCELERATOR)/.test(code)
      const told = record !== undefined && lastMarks.length > 1 && /^ {2}reached: .*\d+ ms/m.test(message)
      return !told || planned !== (reproduce !== undefined)
    })
    expect(lacking.map(([key]) => key)).toEqual([])
  })
})
