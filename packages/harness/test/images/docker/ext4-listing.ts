import { execFileSync } from 'node:child_process'

/**
 * Every name in an ext4 image with its mode and owner, then the size of a file or link or the numbers of a device, then its
 * xattrs, as debugfs (e2fsprogs) reads them.
 */
export function ext4Listing(image: string): Map<string, string> {
  const listing = new Map<string, string>()
  const visit = (folder: string): void => {
    // One line a name: /inode/mode/uid/gid/name/size/
    for (const line of debugfs(image, `ls -p ${folder || '/'}`).split('\n')) {
      const [, inode, mode, uid, gid, name, size] = line.split('/')
      if (!inode || !name || name === '.' || name === '..' || name === 'lost+found') continue
      const path = `${folder}/${name}`
      const isFolder = mode?.startsWith('04')
      const detail = /^1[02]/.test(mode ?? '') ? [size] : /^0[26]/.test(mode ?? '') ? [device(image, path)] : []
      listing.set(path, [mode, uid, gid, ...detail, ...attributes(image, path)].join(' '))
      if (isFolder) visit(path)
    }
  }
  visit('')
  return listing
}

/** The text of a file in an ext4 image. */
export function ext4Text(image: string, path: string): string {
  return debugfs(image, `cat ${path}`)
}

function device(image: string, path: string): string | undefined {
  return /Device major\/minor number: (\d+:\d+)/.exec(debugfs(image, `stat ${path}`))?.[1]
}

function attributes(image: string, path: string): string[] {
  const lines = debugfs(image, `ea_list ${path}`).split('\n')
  return lines.flatMap((line) => {
    const match = /^\s+([\w.]+) \(\d+\)(?: = (.*))?$/.exec(line)
    return match ? [`${match[1]}=${match[2]?.replace(/ +$/, '').replaceAll('"', '') ?? ''}`] : []
  })
}

function debugfs(image: string, request: string): string {
  const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin`, LC_ALL: 'C', DEBUGFS_PAGER: '__none__' }
  return execFileSync('debugfs', ['-R', request, image], { env, stdio: ['ignore', 'pipe', 'ignore'] }).toString(
    'latin1',
  )
}
