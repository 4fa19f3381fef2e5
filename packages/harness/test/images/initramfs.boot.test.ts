import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { guestModules } from '../../src/guest-modules.ts'
import { type BareInitramfs, bareInitramfs, debianKernel, type Kernel } from '../../src/images/index.ts'
import { temporaryFolder } from './temporary-folder.ts'

const cacheRoot =
  process.env['BOXLAB_HOME'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'boxlab')

// Stands in for the agent: loads what is there in lexical order, says what the kernel then has, and powers off.
const AGENT = `#!/bin/busybox sh
mount -t proc proc /proc
for file in /lib/modules/boxlab/*.ko; do insmod "$file" && echo "loaded:$(basename "$file")"; done
echo "order:$(tr '\\n' ' ' < /lib/modules/boxlab/order)"
echo "modules:$(cut -d' ' -f1 /proc/modules | tr '\\n' ' ')"
echo "root:$(stat -c '%a %u' / /tmp /root | tr '\\n' ' ')"
echo "file:$(cat /opt/note)"
echo "release:$(uname -r)"
poweroff -f
`

async function consoleOf(kernel: Kernel, initramfs: BareInitramfs): Promise<string> {
  const mhz = Number(/^cpu MHz\s*: ([\d.]+)$/m.exec(await readFile('/proc/cpuinfo', 'utf8'))?.[1])
  const kernelLine = `console=ttyS0 panic=-1 quiet tsc_early_khz=${Math.round(mhz * 1000)}`
  const machine = '-accel tcg -machine q35 -cpu max -m 512 -nodefaults -display none -serial stdio -no-reboot'
  const argv = [...machine.split(' '), '-kernel', kernel.path, '-initrd', initramfs.path, '-append', kernelLine]
  const engine = spawn('qemu-system-x86_64', argv, { stdio: ['ignore', 'pipe', 'inherit'] })
  const deadline = setTimeout(() => engine.kill('SIGKILL'), 50_000)
  onTestFinished(() => {
    clearTimeout(deadline)
    engine.kill('SIGKILL')
  })
  return text(engine.stdout)
}

function said(console: string, word: string): string[] {
  return [...console.matchAll(new RegExp(`${word}:(.*?)\\s*$`, 'gm'))].map((match) => match[1]!)
}

test("Debian's cloud kernel unpacks our initramfs and loads its modules in our order", async ({ skip }) => {
  const kernel = await debianKernel().resolve({ cacheRoot })
  const folder = await temporaryFolder()
  const agentPath = join(folder, 'agent')
  await writeFile(agentPath, AGENT)
  const modules = guestModules({
    modules: ['virtio_blk', 'virtio_net', 'vmw_vsock_virtio_transport', 'overlay', 'ext4', 'virtio_balloon'],
  })
  const files = [{ path: '/opt/note', data: 'zażółć' }]
  const initramfs = await bareInitramfs({ agentPath, kernel, modules, files, cacheRoot: folder })
  skip(
    initramfs.notes.some((note) => note.startsWith('no busybox')),
    'the host has no static busybox (package busybox-static)',
  )

  const console = await consoleOf(kernel, initramfs)
  const inOrder = initramfs.modules.map((name, index) => `${String(index).padStart(3, '0')}-${name}.ko`)
  expect(said(console, 'loaded')).toEqual(inOrder)
  expect(said(console, 'order')).toEqual([inOrder.join(' ')])
  // The kernel lists the newest first.
  expect(said(console, 'modules')).toEqual([initramfs.modules.toReversed().join(' ')])
  expect(said(console, 'root')).toEqual(['755 0 1777 0 700 0'])
  expect(said(console, 'file')).toEqual(['zażółć'])
  expect(said(console, 'release')).toEqual([kernel.version])
})
