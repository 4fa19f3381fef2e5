import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The script that is an image's init: it tells what it was given, and then is an init of the simplest kind. */
const initScript = `#!/bin/sh
mount -t tmpfs tmpfs /tmp
tr '\\0' '\\n' < /proc/self/environ > /tmp/environ
echo "$0 $*" > /tmp/argv
ls -l /proc/self/fd > /tmp/fds
cat /proc/self/status > /tmp/status
umask > /tmp/umask
cat /proc/keys > /tmp/keys
: > /tmp/done
exec sleep 100000
`

/** A root of busybox and a script as init, or without an init. */
export function tinyRoot(folder: string, { init = initScript }: { readonly init?: string | null } = {}): string {
  for (const name of ['bin', 'sbin', 'etc', 'dev', 'proc', 'sys', 'run', 'tmp', 'root', 'lib/modules']) {
    mkdirSync(join(folder, name), { recursive: true })
  }
  copyFileSync('/bin/busybox', join(folder, 'bin/busybox'))
  for (const applet of [
    'sh',
    'ls',
    'cat',
    'tr',
    'mount',
    'sleep',
    'id',
    'stat',
    'mkdir',
    'readlink',
    'wget',
    'lsmod',
  ]) {
    symlinkSync('busybox', join(folder, 'bin', applet))
  }
  symlinkSync('../bin/busybox', join(folder, 'sbin/modprobe'))
  writeFileSync(join(folder, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/:/bin/sh\n')
  writeFileSync(join(folder, 'etc/group'), 'root:x:0:\nuser:x:1000:\n')
  writeFileSync(join(folder, 'etc/issue'), 'of the image\n')
  chmodSync(join(folder, 'etc'), 0o711)
  chmodSync(join(folder, 'tmp'), 0o1777)
  if (init !== null) {
    writeFileSync(join(folder, 'sbin/init'), init)
    chmodSync(join(folder, 'sbin/init'), 0o755)
  }
  return folder
}
