import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import type { ImageProgress } from '../../../src/images/root-image.ts'
import { debian, tarball } from '../../../src/images/sources/index.ts'
import { tarOf } from './archives.ts'
import { mounted } from './listing.ts'

const folder = mkdtempSync(join(tmpdir(), 'boxlab-debian-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const PROGRAM = `
  const { debian } = await import(${JSON.stringify(join(import.meta.dirname, '../../../src/images/sources/index.ts'))})
  const progress = ({ detail }) => detail && process.stdout.write(detail + '\\n')
  await debian({ suite: 'bookworm', packages: [] }).resolve({ cacheRoot: process.argv[1], progress })
`

// The real mirror and the real mmdebstrap: this takes most of a minute, and so is done once.
test(
  'a killed builder leaves no process, no mount and no entry; then a Debian is made, and kept',
  { timeout: 300_000 },
  async () => {
    const cacheRoot = join(folder, 'cache')
    const builder = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, cacheRoot], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(builder, 'exit')
    for await (const chunk of builder.stdout) if (String(chunk).includes('downloading packages')) break
    builder.kill('SIGKILL')
    await ended
    await expect.poll(() => processesOf(cacheRoot), { timeout: 5000 }).toEqual([])
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(cacheRoot)
    expect(finished(cacheRoot)).toEqual([])

    const events: ImageProgress[] = []
    const source = debian({
      suite: 'bookworm',
      packages: ['busybox-static'],
      customize: ['echo made by a line > "$1/etc/made"', 'chroot "$1" useradd --system --uid 4242 somebody'],
    })
    const made = await source.resolve({ cacheRoot, progress: (event) => void events.push(event) })
    expect(made).toMatchObject({ format: 'ext4', architecture: 'x86_64', hasInit: false, cached: false })
    expect(new Set(events.map(({ step }) => step))).toEqual(new Set(['fetch', 'unpack', 'format', 'rename']))
    expect(events.some(({ detail }) => detail?.includes('downloading packages'))).toBe(true)
    execFileSync('e2fsck', ['-f', '-n', made.path], { stdio: 'ignore' })
    mounted(made.path, 'ext4', (root) => {
      expect(readFileSync(join(root, 'etc/os-release'), 'utf8')).toContain('VERSION_CODENAME=bookworm')
      expect(readFileSync(join(root, 'etc/made'), 'utf8')).toBe('made by a line\n')
      expect(readFileSync(join(root, 'etc/passwd'), 'utf8')).toContain('somebody:x:4242:')
      expect(existsSync(join(root, 'bin/busybox'))).toBe(true)
      expect(statSync(join(root, 'usr/bin/passwd')).mode & 0o7777).toBe(0o4755)
      expect(execFileSync('chroot', [root, 'dpkg', '--verify'], { encoding: 'utf8' })).toBe('')
      writeFileSync(join(folder, 'again.tar'), tarOf(root))
    })
    // What the kernel reads from the image is the tree that went in.
    const again = await tarball(join(folder, 'again.tar')).resolve({ cacheRoot: join(folder, 'other') })
    expect(again.digest).toBe(made.digest)
    // What the killed one left is gone too.
    expect(readdirSync(join(cacheRoot, 'images/source'))).toHaveLength(1)

    events.length = 0
    expect(await source.resolve({ cacheRoot, progress: (event) => void events.push(event) })).toEqual({
      ...made,
      cached: true,
    })
    expect(events).toEqual([])
  },
)

async function processesOf(cacheRoot: string): Promise<string[]> {
  await sleep(20)
  return readdirSync('/proc').filter((pid) => {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'latin1') + readFileSync(`/proc/${pid}/environ`, 'latin1')
      return /^\d+$/.test(pid) && line.includes(cacheRoot)
    } catch {
      return false
    }
  })
}

function finished(cacheRoot: string): string[] {
  const names = ['source', 'root'].map((kind) => join(cacheRoot, 'images', kind)).filter((place) => existsSync(place))
  return names.flatMap((place) => readdirSync(place)).filter((name) => /^[0-9a-f]{64}$/.test(name))
}
