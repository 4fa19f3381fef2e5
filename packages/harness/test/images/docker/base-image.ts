import { readFileSync } from 'node:fs'
import { paxRecord } from '../../../src/images/tar/pax.ts'

/** A member of a test's archive. */
export interface Member {
  readonly path: string
  readonly type?: '0' | '1' | '2' | '3' | '5' | '6'
  readonly mode?: number
  readonly uid?: number
  readonly gid?: number
  readonly link?: string
  readonly data?: Buffer
  readonly device?: readonly [number, number]
  readonly xattrs?: Readonly<Record<string, Buffer>>
}

/** cap_net_raw=ep as the kernel stores it: struct vfs_cap_data, revision 2, effective (linux/capability.h). */
export const NET_RAW: Buffer = Buffer.from('0100000200200000000000000000000000000000', 'hex')

const APPLETS = 'sh cat chmod chown cp echo false httpd id ln ls mkdir mkfifo mknod mv rm sleep touch true'.split(' ')

/** The archive of a small root with busybox, and one of each thing that is easily lost. */
export function baseArchive(): AsyncIterable<Uint8Array> {
  const members: Member[] = [
    { path: './', type: '5', mode: 0o755 },
    { path: 'bin/', type: '5', mode: 0o755 },
    { path: 'bin/busybox', mode: 0o755, data: readFileSync('/bin/busybox') },
    ...APPLETS.map((name): Member => ({ path: `bin/${name}`, type: '2', link: 'busybox' })),
    { path: 'data/', type: '5', mode: 0o1777, uid: 7, gid: 8 },
    { path: 'data/set-id', mode: 0o6755, uid: 1000, gid: 1001, data: Buffer.from('x') },
    {
      path: 'data/raw',
      mode: 0o755,
      data: Buffer.from('ping'),
      xattrs: { 'security.capability': NET_RAW, 'user.color': Buffer.from('blue') },
    },
    { path: 'data/moved', mode: 0o755, data: Buffer.from('pong'), xattrs: { 'security.capability': NET_RAW } },
    { path: 'data/device', type: '3', mode: 0o666, device: [1, 3] },
    { path: 'data/pipe', type: '6', mode: 0o600 },
    { path: 'data/again', type: '1', link: 'data/set-id' },
    { path: 'data/gone', data: Buffer.from('taken away by a layer') },
    { path: 'data/many/', type: '5', mode: 0o755 },
    { path: 'data/many/one', data: Buffer.from('taken away with its folder') },
  ]
  return archive(members)
}

/** A tar archive of these. */
export async function* archive(members: readonly Member[]): AsyncGenerator<Buffer> {
  for (const member of members) {
    const records = Object.entries(member.xattrs ?? {}).map(([name, value]) => paxRecord(`SCHILY.xattr.${name}`, value))
    if (records.length > 0) yield* entry({ path: 'pax', type: '0', data: Buffer.concat(records) }, 'x')
    yield* entry(member, member.type ?? '0')
  }
  yield Buffer.alloc(1024)
}

function* entry(
  { path, mode = 0o644, uid = 0, gid = 0, link = '', data, device }: Member,
  type: string,
): Generator<Buffer> {
  const header = Buffer.alloc(512)
  const octal = (value: number, at: number, length: number): number =>
    header.write(value.toString(8).padStart(length - 1, '0'), at, 'latin1')
  header.write(path, 0, 'latin1')
  octal(mode, 100, 8)
  octal(uid, 108, 8)
  octal(gid, 116, 8)
  octal(data?.length ?? 0, 124, 12)
  // 2001-02-03 04:05:06 UTC.
  octal(981_173_106, 136, 12)
  header.write(`        ${type}${link}`, 148, 'latin1')
  header.write('ustar\u{0}00', 257, 'latin1')
  octal(device?.[0] ?? 0, 329, 8)
  octal(device?.[1] ?? 0, 337, 8)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\u{0} `, 148, 'latin1')
  yield header
  if (data) yield Buffer.concat([data, Buffer.alloc((512 - (data.length % 512)) % 512)])
}
