import { execFileSync } from 'node:child_process'
import { expect } from 'vitest'
import type { Box } from '../../src/index.ts'

/**
 * What a program inside sees of every name: kind, mode, owner, group, and of what is no folder size, links, device, time,
 * target and content. What the kernel and the agent mount is not the image's.
 */
const listing = `
cd /
places='-path ./dev -o -path ./proc -o -path ./sys -o -path ./run -o -path ./tmp -o -path ./lib/modules'
find . -xdev \\( $places \\) -prune -o -type d -exec /bin/busybox stat -c '%n|%f|%u|%g' {} +
find . -xdev \\( $places \\) -prune -o ! -type d -exec /bin/busybox stat -c '%N|%f|%u|%g|%s|%h|%t:%T|%Y' {} +
find . -xdev \\( $places \\) -prune -o -type f -exec /bin/busybox sha256sum {} +
`

/** The listing of a guest's root. It needs a busybox there. */
export async function guestListing(box: Box): Promise<string> {
  const { stdout, stderr } = await box.exec(['/bin/busybox', 'sh', '-c', listing])
  expect(stderr.toString()).toBe('')
  return sorted(stdout)
}

/** The same listing of a folder of this host, by the same program. */
export function folderListing(folder: string): string {
  return sorted(execFileSync('chroot', [folder, '/bin/busybox', 'sh', '-c', listing], { maxBuffer: 1 << 26 }))
}

function sorted(output: Buffer): string {
  return output.toString('latin1').split('\n').toSorted().join('\n')
}
