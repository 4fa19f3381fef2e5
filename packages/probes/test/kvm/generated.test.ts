import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { exits, exitsJson, renderExits } from '../../src/index.ts'
import { fixture } from './recordings.ts'

const pieces = fc.constantFrom(
  '{"return": [',
  ']}\n',
  '{"provider":"kvm","stats":[{"name":"exits","value":',
  '7}]}',
  '{"kind":"kvm","atNs":1,"values":{"exits":3}}\n',
  '{"kind":"kvm-schema","schemas":[{}]}\n',
  '{"kind":"kvm","vcpus":[{"index":-1}]}\n',
  'vcpu.0.exits.sum=',
  'vm.pages_4k.cur=9\n',
  "Domain: 'x'\n",
  " id='kvm-3/vcpu-0'\n",
  'exits flags=0x0 val=3\n',
  '\u001b[31m',
  '\0\0\0\0',
  'null',
  '[[[[[[',
  '\n',
)

it('any text is read without an exception, and what is read can be rendered and stored', () => {
  const text = fc.oneof(
    fc.string(),
    fc.array(pieces, { maxLength: 30 }).map((all) => all.join('')),
  )
  fc.assert(
    fc.property(text, (input) => {
      const result = exits([{ name: 'any', input }])
      expect(renderExits(result)).not.toBe('')
      expect(exitsJson(result).version).toBe(1)
    }),
    { numRuns: 500 },
  )
})

it('any damage to binary statistics is read without an exception', () => {
  const whole = fixture('kvm-stats-fd-vcpu.bin')
  const damage = fc.array(fc.tuple(fc.nat(300), fc.nat(255)), { maxLength: 8 })
  fc.assert(
    fc.property(damage, fc.nat(whole.length), (changes, length) => {
      const bytes = whole.slice(0, length)
      for (const [at, value] of changes) if (at >= 4 && at < length) bytes[at] = value
      expect(renderExits(exits([{ name: 'damaged.bin', input: bytes }]))).not.toBe('')
    }),
    { numRuns: 500 },
  )
})

it.each(['qmp-stats-kvm-q35-7.2.json', 'kvm-stats-fd-vcpu.bin', 'kvm-stats-fd-decoded.txt'])(
  '%s gives the same however it was cut into chunks',
  (name) => {
    const whole = fixture(name)
    const expected = exits([{ name, input: whole }])
    fc.assert(
      fc.property(fc.array(fc.nat(whole.length), { maxLength: 6 }), (cuts) => {
        const edges = [0, ...cuts.toSorted((a, b) => a - b), whole.length]
        const chunks = edges.slice(1).map((end, index) => whole.slice(edges[index], end))
        expect(exits([{ name, input: chunks }])).toEqual(expected)
      }),
      { numRuns: 30 },
    )
  },
)
