import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ImageError } from '../../../src/images/index.ts'
import { writeExt4 } from '../../../src/images/formats/ext4/write-ext4.ts'
import type { Piece } from '../../../src/images/tar/read-tar.ts'
import { type Content, type DirectoryNode, plainDirectory } from '../../../src/images/tree/node.ts'
import { Spool } from '../../../src/images/tree/spool.ts'
import { treeDigest } from '../../../src/images/tree/tree-digest.ts'
import { mounted } from './listing.ts'

const folder = mkdtempSync(join(tmpdir(), 'boxlab-ext4-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const meta = { mode: 0o644, uid: 0, gid: 0, mtimeNs: 1_600_000_000_000_000_000n, xattrs: new Map<string, Buffer>() }
let images = 0

/** Writes an image of what `fill` puts into the root; e2fsck has nothing to say of it. */
async function imageOf(
  fill: (root: DirectoryNode, add: (pieces: readonly Piece[], size: number) => Promise<Content>) => Promise<void>,
): Promise<string> {
  const path = join(folder, `image-${images++}`)
  const spool = await Spool.create(`${path}.spool`)
  try {
    const root = plainDirectory()
    await fill(root, (pieces, size) =>
      spool.add(
        (async function* () {
          yield* pieces
        })(),
        size,
      ),
    )
    await writeExt4(path, root, spool, { digest: treeDigest(root) })
  } finally {
    await spool.close()
  }
  execFileSync('e2fsck', ['-f', '-n', path], { stdio: ['ignore', 'pipe', 'pipe'] })
  return path
}

test('a folder with many names and one with many folders are whole', async () => {
  const path = await imageOf(async (root, add) => {
    const content = await add([{ offset: 0, bytes: Buffer.from('x') }], 1)
    const many = plainDirectory()
    const folders = plainDirectory()
    for (let index = 0; index < 20_000; index++) many.children.set(`name-${index}`, { kind: 'file', content, ...meta })
    for (let index = 0; index < 66_000; index++) folders.children.set(`d${index}`, plainDirectory())
    root.children.set('many', many).set('folders', folders)
  })
  mounted(path, 'ext4', (place) => {
    expect(readdirSync(join(place, 'many'))).toHaveLength(20_000)
    expect(readFileSync(join(place, 'many/name-12345'), 'utf8')).toBe('x')
    expect(readdirSync(join(place, 'folders'))).toHaveLength(66_000)
    // More than a directory can count.
    expect(statSync(join(place, 'folders')).nlink).toBe(1)
  })
})

test(
  'a file in thousands of pieces, one over many groups, and one as large as a disk are whole',
  { timeout: 60_000 },
  async () => {
    const block = Buffer.alloc(4096)
    const pieces = Array.from({ length: 3000 }, (_, index) => {
      const bytes = Buffer.alloc(4096, `piece ${index} `)
      return { offset: index * 8192, bytes }
    })
    const large = Buffer.alloc(300 << 20, 'the content of a large file, which lies in three groups of blocks. ')
    const path = await imageOf(async (root, add) => {
      root.children.set('pieces', { kind: 'file', content: await add(pieces, 3000 * 8192), ...meta })
      root.children.set('large', {
        kind: 'file',
        content: await add([{ offset: 0, bytes: large }], large.length),
        ...meta,
      })
      const far = [{ offset: 5 * 2 ** 40 - 10, bytes: Buffer.from('at the end') }]
      root.children.set('terabytes', { kind: 'file', content: await add(far, 5 * 2 ** 40), ...meta })
    })
    mounted(path, 'ext4', (place) => {
      expect(readFileSync(join(place, 'large')).equals(large)).toBe(true)
      const read = readFileSync(join(place, 'pieces'))
      for (const { offset, bytes } of pieces) {
        expect(read.subarray(offset, offset + 4096).equals(bytes)).toBe(true)
        expect(read.subarray(offset + 4096, offset + 8192).equals(block)).toBe(true)
      }
      expect(statSync(join(place, 'terabytes'))).toMatchObject({ size: 5 * 2 ** 40, blocks: 8 })
      expect(execFileSync('tail', ['-c', '10', join(place, 'terabytes')], { encoding: 'utf8' })).toBe('at the end')
    })
  },
)

test('xattrs that no ext4 can hold are refused by the file that has them', async () => {
  const refused = imageOf(async (root, add) => {
    const xattrs = new Map([['user.large', Buffer.alloc(5000, 1)]])
    root.children.set('file', { kind: 'file', content: await add([], 0), ...meta, xattrs })
  })
  await expect(refused).rejects.toThrow(ImageError)
  await expect(refused).rejects.toMatchObject({
    code: 'ERR_IMAGE_FORMAT',
    message: expect.stringMatching(/^\/file cannot go into an ext4 image: its xattrs take \d+ bytes/) as string,
  })
})
