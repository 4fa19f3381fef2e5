import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Ran, type Running, runVitest, startVitest } from './run-vitest.ts'

describe('a run with failures, under the default reporter', () => {
  let ran: Ran & Running
  beforeAll(async () => {
    ran = await runVitest('failing')
  })

  /** What stands below the heading of a failed test or suite, up to the next. */
  function below(name: string): string {
    const [, text = ''] = ran.output.split(` FAIL  failing.trap.ts > ${name}\n`)
    const [section = ''] = text.split(/⎯\[\d+\/\d+\]⎯/)
    return section
  }

  function boxIn(section: string): { readonly id: string; readonly record: string } {
    const [, id = ''] = /^box (b[0-9a-f]{10})/m.exec(section) ?? []
    return { id, record: join(ran.out, 'home/records', id) }
  }

  test('shows a box that was gone when the assertion had failed, and keeps its record', () => {
    const section = below('an assertion about a box that is gone by then')
    const { id, record } = boxIn(section)
    expect(section).toMatch(new RegExp(`^box ${id} "asserted"$`, 'm'))
    expect(section).toMatch(/^ {2}stopped after it was ready; last mark `ready` at \d+ ms$/m)
    expect(section).toContain(`\n  record: ${record}\n  reproduce: `)
    expect(section).toContain('\n  console:\n    hello from the boot sector\n    done\n  attached: ')
    expect(existsSync(join(record, 'console.bin'))).toBe(true)
  })

  test('adds to the error of a boot what its message does not say, and nothing twice', () => {
    const section = below('a boot fails')
    const { id, record } = boxIn(section)
    expect(section).toMatch(new RegExp(`^box ${id}: ERR_BOX_TIMEOUT\n {2}attached: `, 'm'))
    for (const once of [record, 'reached:', 'reproduce:', '  console:', 'hello from the boot sector']) {
      expect(section.split(once)).toHaveLength(2)
    }
  })

  test('shows the box of the fixture', () => {
    const section = below('the fixture > has a box of its own')
    expect(section).toContain(`  record: ${boxIn(section).record}\n`)
  })

  test('shows the box of a hook that failed, though its tests never ran', () => {
    const section = below('a hook that fails')
    expect(section).toMatch(/^box b[0-9a-f]{10}: ERR_BOX_TIMEOUT$/m)
    expect(existsSync(join(boxIn(section).record, 'boot.json'))).toBe(true)
  })

  test('shows a shared box under the test in which it died, and one sentence under those after it', () => {
    expect(below('a shared box > is killed')).toMatch(/^box b[0-9a-f]{10}: ERR_BOX_ENGINE_EXITED$/m)
    for (const name of ['is missed', 'is missed again']) {
      const section = below(`a shared box > ${name}`)
      expect(section).toMatch(
        /^BoxError: the box is of no use any more: the engine ended \(signal 9\)[^\n]*\(seen first in 'a shared box > is killed'\)\n ❯/,
      )
      expect(section).not.toMatch(/^box |^ {2}(?:console|record):/m)
    }
  })

  test('attaches console and boot.json', () => {
    const attached = readdirSync(join(ran.out, 'attachments')).map((name) => join(ran.out, 'attachments', name))
    const consoles = attached.filter((path) => path.endsWith('.bin')).map((path) => readFileSync(path, 'utf8'))
    const boots = attached.filter((path) => path.endsWith('.json')).map((path) => readFileSync(path, 'utf8'))
    expect(consoles).toHaveLength(4)
    expect(new Set(consoles)).toEqual(new Set(['hello from the boot sector\r\ndone\r\n']))
    const ids = boots.map((text) => (JSON.parse(text) as { readonly boxId: string }).boxId)
    expect(ids.toSorted()).toEqual(
      ran
        .boxes()
        .map(({ id }) => id)
        .filter((id) => id !== boxIn(below('a hook that fails')).id)
        .toSorted(),
    )
  })

  test('keeps no record of a test that passed', () => {
    expect(ran.boxes()).toHaveLength(5)
  })
})

test('without a reporter that prints errors it prints the whole of it', async () => {
  const args = ['run', '--reporter=@boxlab/harness/reporter', '-t', 'a boot fails']
  const { output } = await startVitest('failing', { args }).ended
  expect(output).toMatch(
    /^FAIL failing.trap.ts > a boot fails\n'never said' on the console did not come within 1500 ms[^\n]*\nbox \S+: ERR_BOX_TIMEOUT\n {2}failed in the stage `firmware`[^\n]*\n(?: {2}likely cause: [^\n]*\n)? {2}record: [^\n]*\n {2}reproduce: [^\n]*\n {2}console:\n {4}hello from the boot sector\n {4}done\n/m,
  )
})
