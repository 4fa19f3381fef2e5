import { expect, test } from 'vitest'
import { imageSourceOf } from '../../src/cli/image-source.ts'
import { runBoxlab } from './run-boxlab.ts'

test.for([
  ['debian:trixie', 'debian trixie'],
  ['directory:/srv/a:b', 'directory /srv/a:b'],
  ['oci:localhost:5000/name:tag', 'oci localhost:5000/name:tag'],
  ['disk:/x.img', 'disk /x.img'],
])('%s is the source %s', ([text, name]) => {
  expect(imageSourceOf(text ?? '').name).toBe(name)
})

test.for(['trixie', 'debian:', 'ubuntu:noble', ':x', 'constructor:x'])('%s is refused with what there is', (text) => {
  expect(() => imageSourceOf(text)).toThrow(/^It must be KIND:PLACE, such as debian:trixie; the kinds are directory, /)
})

test('a wrong image is a sentence of the command and exit code 2', async () => {
  const { code, stderr } = await runBoxlab(['boot', '--image', 'trixie'])
  expect(code).toBe(2)
  expect(stderr).toContain("argument 'trixie' is invalid. It must be KIND:PLACE, such as debian:trixie")
})
