/** Tags of include/uapi/linux/posix_acl.h: for whom nobody is named, and for whom somebody is. */
const TAGS: Readonly<Record<string, readonly [unnamed: number, named: number]>> = {
  user: [0x01, 0x02],
  group: [0x04, 0x08],
  mask: [0x10, 0x10],
  other: [0x20, 0x20],
}
const NO_ID = 0xffff_ffff

/**
 * An access control list in words (`user::rw-,user:1000:r--,mask::r--,…`, as acl(5) has it, with a number behind a name where
 * star wrote it) as the value of its xattr (posix_acl_xattr.h). Undefined when it cannot be read or names somebody without a
 * number: who that is depends on the host.
 */
export function parseAclText(text: string): Buffer | undefined {
  const entries: { tag: number; permissions: number; id: number }[] = []
  for (const line of text.split(/[,\n]/)) {
    const entry = line.replace(/#.*$/, '').trim()
    if (entry === '') continue
    const [word = '', who = '', letters = '', number = who] = entry.split(':')
    const tags = TAGS[word]
    if (tags === undefined || !/^[r-][w-][x-]$/.test(letters) || (who !== '' && !/^\d+$/.test(number))) return undefined
    const permissions = letters.split('').reduce((bits, letter) => bits * 2 + (letter === '-' ? 0 : 1), 0)
    entries.push({ tag: who === '' ? tags[0] : tags[1], permissions, id: who === '' ? NO_ID : Number(number) })
  }
  const bytes = Buffer.alloc(4 + entries.length * 8)
  bytes.writeUInt32LE(2, 0)
  // The kernel takes them in the order of tags, then of ids.
  for (const [index, { tag, permissions, id }] of entries.toSorted((a, b) => a.tag - b.tag || a.id - b.id).entries()) {
    bytes.writeUInt16LE(tag, 4 + index * 8)
    bytes.writeUInt16LE(permissions, 6 + index * 8)
    bytes.writeUInt32LE(id, 8 + index * 8)
  }
  return bytes
}
