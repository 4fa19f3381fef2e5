import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { native } from '../src/loader.ts'

const source = readFileSync(new URL('../src/binding.ts', import.meta.url), 'utf8')

/** The names of an interface's members, in order. */
function members(name: string): string[] {
  const body = new RegExp(`export interface ${name} \\{\n([^]*?)\n\\}`).exec(source)?.[1] ?? ''
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)[(:]/gm)].map(([, member]) => member as string)
}

const exported = native() as unknown as Record<string, (() => void) & { prototype: object }>
const classes = ['NativeBox', 'NativeExec', 'NativeStream', 'NativeTurn', 'NativeWatch']

test.for(classes)('%s has the members that the addon gives it, and no others', (name) => {
  const real = Object.getOwnPropertyNames(exported[name]?.prototype).filter((member) => member !== 'constructor')
  expect(real.length).toBeGreaterThan(1)
  expect(members(name).toSorted()).toEqual(real.toSorted())
})

test('the addon exports what its interface says', () => {
  const real = Object.keys(exported).filter((name) => !classes.includes(name))
  const told = members('Addon').filter((name) => !classes.includes(name))
  expect(told.toSorted()).toEqual(real.toSorted())
})
