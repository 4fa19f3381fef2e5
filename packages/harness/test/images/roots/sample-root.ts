import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  copyFileSync,
  ftruncateSync,
  lchownSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'

/** What the sample has apart from files, for trees of a format that cannot hold it. */
export interface SampleOptions {
  /** Default true. */
  readonly xattrs?: boolean
  /** Bytes of its longest name. Default 255. */
  readonly longestName?: number
}

/** `cap_net_raw,cap_setuid=ep` (struct vfs_cap_data): a value with a byte over 127 and with zeros, which is no text. */
export const CAPABILITY = '0x0100000280200000000000000000000000000000'
/** `user:54321:r--` beside the usual entries. */
export const ACL = '0x0200000001000600ffffffff0200040031d4000004000400ffffffff10000400ffffffff20000400ffffffff'
export const SPARSE_BYTES = 16 << 20

/** A small root file system with one of every odd thing; needs root. */
export function sampleRoot(root: string, { xattrs = true, longestName = 255 }: SampleOptions = {}): void {
  if (process.getuid?.() !== 0) {
    throw new Error(
      'this test makes device nodes and files of other users: run it as root, or in `unshare --map-auto -r` with a /dev of its own',
    )
  }
  for (const folder of ['bin', 'sbin', 'dev', 'etc', 'home/user', 'proc', 'tmp', 'var/lib/odd', 'usr/lib']) {
    mkdirSync(join(root, folder), { recursive: true })
  }
  const at = (path: string): string => join(root, path)
  copyFileSync('/bin/busybox', at('bin/busybox'))
  for (const applet of ['sh', 'ls', 'cat']) symlinkSync('busybox', at(`bin/${applet}`))
  symlinkSync('../bin/busybox', at('sbin/init'))
  writeFileSync(at('etc/hostname'), 'sample\n')
  writeFileSync(at('etc/empty'), '')
  symlinkSync('/etc/hostname', at('etc/absolute'))
  symlinkSync(`/${'long/'.repeat(60)}target`, at('etc/long-link'))
  symlinkSync('nowhere', at('etc/dangling'))
  copyFileSync('/bin/busybox', at('bin/su'))
  lchownSync(at('bin/su'), 0, 42)
  chmodSync(at('bin/su'), 0o6755)
  writeFileSync(at('home/user/secret'), 'x'.repeat(5000))
  lchownSync(at('home/user/secret'), 70_000, 3_000_000_000)
  chmodSync(at('home/user/secret'), 0o400)
  lchownSync(at('home/user'), 70_000, 70_000)
  linkSync(at('etc/hostname'), at('etc/a-first-name'))
  linkSync(at('etc/hostname'), at('var/lib/odd/third name'))
  linkSync(at('etc/dangling'), at('etc/dangling-too'))
  execFileSync('mknod', ['-m', '666', at('dev/null'), 'c', '1', '3'])
  execFileSync('mknod', ['-m', '660', at('dev/wide'), 'b', '300', '70000'])
  execFileSync('mkfifo', ['-m', '620', at('var/lib/odd/fifo')])
  const odd = at('var/lib/odd')
  for (const name of ['new\nline', ' spaces ', 'ünïcödé-☃', '-rf', 'back\\slash', 'n'.repeat(longestName)])
    writeFileSync(join(odd, name), name)
  // No UTF-8: a name of the last century.
  writeFileSync(Buffer.concat([Buffer.from(`${odd}/latin-`), Buffer.from([0xe9, 0xff])]), 'latin 1')
  let deep = odd
  for (let level = 0; level < 12; level++) mkdirSync((deep = join(deep, `level-${level}-${'d'.repeat(20)}`)))
  writeFileSync(join(deep, 'file'), 'deep')
  mkdirSync(join(odd, 'many'))
  for (let index = 0; index < 300; index++)
    writeFileSync(join(odd, 'many', `a-file-with-a-name-${index}`), String(index))
  sparse(join(odd, 'sparse'))
  chmodSync(at('tmp'), 0o1777)
  if (xattrs) setXattrs(root)
  setTimes(root)
  lchownSync(root, 12, 34)
  chmodSync(root, 0o751)
  lutimesSync(root, 1_500_000_000, 1_500_000_000.25)
}

function setXattrs(root: string): void {
  const set = (path: string, name: string, value: string): void => {
    execFileSync('setfattr', ['-h', '-n', name, '-v', value, join(root, path)])
  }
  set('bin/busybox', 'security.capability', CAPABILITY)
  set('etc/empty', 'user.binary', '0x00ff0a3d80')
  set('etc', 'trusted.overlay.opaque', 'y')
  set('etc/hostname', 'system.posix_acl_access', ACL)
  set('home', 'system.posix_acl_default', ACL)
  // More than fits behind an inode.
  for (let index = 0; index < 10; index++) set('etc/empty', `user.number-${index}`, 'v'.repeat(30 * index))
  set('', 'user.of-the-root', 'root')
}

/** Data at both ends and in the middle, not where blocks begin. */
function sparse(path: string): void {
  const file = openSync(path, 'w')
  writeSync(file, 'start', 0)
  writeSync(file, 'middle', (SPARSE_BYTES >> 1) + 1234)
  writeSync(file, 'end', SPARSE_BYTES - 1003)
  ftruncateSync(file, SPARSE_BYTES)
  closeSync(file)
}

/** A time of its own for each, with parts of a second, one before 1970 and one after 2038. */
function setTimes(root: string): void {
  let seconds = 1_600_000_000
  const visit = (path: Buffer): void => {
    for (const entry of readdirSync(path, { encoding: 'buffer', withFileTypes: true })) {
      const inside = Buffer.concat([path, Buffer.from('/'), entry.name])
      if (entry.isDirectory()) visit(inside)
      seconds += 1
      lutimesSync(inside, seconds, seconds + 0.125)
    }
  }
  visit(Buffer.from(root))
  lutimesSync(join(root, 'etc/empty'), 0, -1000.5)
  lutimesSync(join(root, 'home/user/secret'), 0, 5_000_000_000.5)
}
