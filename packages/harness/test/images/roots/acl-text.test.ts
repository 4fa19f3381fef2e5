import { expect, test } from 'vitest'
import { parseAclText } from '../../../src/images/tar/acl-text.ts'
import { ACL } from './sample-root.ts'

test('a list of access in words is the xattr that the kernel gives', () => {
  const lines = ['user::rw-', 'user:54321:r--', 'group::r--', 'mask::r--', 'other::r--']
  for (const text of [
    lines.join(','),
    lines.toReversed().join('\n'),
    'user::rw-\nuser:joe:r--:54321\ngroup::r-- #effective:r--\nmask::r--\nother::r--\n',
  ]) {
    expect(`0x${parseAclText(text)!.toString('hex')}`).toBe(ACL)
  }
})

test.for(['user:joe:r--', 'owner::rwx', 'user::rwz', 'user'])('%s is not guessed at', (text) => {
  expect(parseAclText(text)).toBeUndefined()
})
