import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { oci } from '../../../src/images/sources/index.ts'
import { type LayoutOptions, type Member, tarOfMembers, writeIndex, writeLayout } from './archives.ts'
import { mounted } from './listing.ts'

const folder = mkdtempSync(join(tmpdir(), 'boxlab-layers-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let layouts = 0
function layoutOf(layers: readonly (readonly Member[])[], options?: LayoutOptions): string {
  const place = join(folder, `layout-${layouts++}`)
  writeLayout(place, layers.map(tarOfMembers), options)
  return place
}

async function treeOf(layers: readonly (readonly Member[])[]): Promise<Record<string, string>> {
  const image = await oci(`oci:${layoutOf(layers)}`).resolve({ cacheRoot: join(folder, 'cache') })
  return mounted(image.path, 'ext4', (root) => {
    const paths = (readdirSync(root, { recursive: true }) as string[]).toSorted()
    return Object.fromEntries(
      paths.map((path) => {
        const facts = statSync(join(root, path), { throwIfNoEntry: false })
        return [path, facts?.isFile() ? readFileSync(join(root, path), 'utf8') : facts?.isDirectory() ? '/' : '?']
      }),
    )
  })
}

const file = (path: string, data: string): Member => ({ path, data })
const folderOf = (path: string): Member => ({ path, type: 'directory' })

describe('layers are laid over each other in order', () => {
  test('a later file takes the place of an earlier one, also one of another kind', async () => {
    const tree = await treeOf([
      [file('a', 'one'), folderOf('b/'), file('b/inside', 'one'), file('c', 'one')],
      [file('a', 'two'), file('b', 'now a file'), folderOf('c/'), file('c/inside', 'two')],
    ])
    expect(tree).toEqual({ a: 'two', b: 'now a file', c: '/', 'c/inside': 'two' })
  })

  test('a whiteout takes a name of the layers below away, a folder with all that is in it', async () => {
    const tree = await treeOf([
      [file('a', 'one'), file('b/c/d', 'one'), file('b/e', 'one'), file('f', 'one')],
      [file('.wh.a', ''), file('b/.wh.c', ''), file('.wh.never-was', '')],
      [file('f', 'three')],
    ])
    expect(tree).toEqual({ b: '/', 'b/e': 'one', f: 'three' })
  })

  test('wherever it stands in its layer, a whiteout leaves what its own layer brings', async () => {
    const below = [file('d/old', 'one'), file('e/old', 'one'), file('f', 'one')]
    const tree = await treeOf([
      below,
      [
        file('d/new', 'two'),
        file('.wh.d', ''),
        file('.wh.e', ''),
        file('e/new', 'two'),
        file('f', 'two'),
        file('.wh.f', ''),
      ],
    ])
    expect(tree).toEqual({ d: '/', 'd/new': 'two', e: '/', 'e/new': 'two', f: 'two' })
  })

  test('an opaque folder shows nothing of the layers below', async () => {
    const tree = await treeOf([
      [file('d/old', 'one'), file('d/e/older', 'one'), file('beside', 'one')],
      [file('d/first', 'two'), file('d/.wh..wh..opq', ''), file('d/e/new', 'two')],
    ])
    expect(tree).toEqual({ beside: 'one', d: '/', 'd/e': '/', 'd/e/new': 'two', 'd/first': 'two' })
  })

  test('a hard link may lead to a file of a layer below, which may then lose its own name', async () => {
    const image = await oci(
      `oci:${layoutOf([
        [file('original', 'shared'), file('other', 'x')],
        [
          { path: 'linked', type: 'hardlink', link: 'original' },
          { path: 'again', type: 'hardlink', link: './linked' },
          file('.wh.original', ''),
        ],
      ])}`,
    ).resolve({ cacheRoot: join(folder, 'cache') })
    mounted(image.path, 'ext4', (root) => {
      expect(readdirSync(root).toSorted()).toEqual(['again', 'linked', 'other'])
      expect(statSync(join(root, 'linked'))).toMatchObject({ nlink: 2, ino: statSync(join(root, 'again')).ino })
      expect(readFileSync(join(root, 'again'), 'utf8')).toBe('shared')
    })
  })

  test('a link of a layer below is followed inside the tree, an absolute one too', async () => {
    const tree = await treeOf([
      [
        folderOf('usr/lib/'),
        folderOf('run/'),
        { path: 'lib', type: 'symlink', link: 'usr/lib' },
        { path: 'var/run', type: 'symlink', link: '/run' },
      ],
      [file('lib/so', 'two'), file('var/run/pid', 'two')],
    ])
    expect(tree).toMatchObject({ 'usr/lib/so': 'two', 'run/pid': 'two' })
  })
})

describe('what is no image is one clear error, and leaves nothing behind', () => {
  const plain = [[file('a', 'one')]]

  test.for<[string, () => string, string, RegExp]>([
    [
      'a layer with another content than its digest says',
      () => `oci:${layoutOf([[file('a', 'one')], [file('b', 'two')]], { spoilLayer: 1 })}`,
      'ERR_IMAGE_DIGEST',
      /the blob sha256:\w+ of \d+ bytes is not what it should be: its digest is sha256:\w+\. Make or fetch it again$/,
    ],
    [
      'a tag that is not there',
      () => `oci:${layoutOf(plain, { tag: 'first' })}:second`,
      'ERR_IMAGE_SOURCE',
      /has no image second: it has first$/,
    ],
    [
      'a folder that is no layout',
      () => `oci:${folder}`,
      'ERR_IMAGE_SOURCE',
      /is no OCI layout: its index\.json cannot be read/,
    ],
    [
      'another architecture',
      () => `oci:${layoutOf(plain, { architecture: 'arm64' })}`,
      'ERR_IMAGE_ARCHITECTURE',
      /has no image for linux\/amd64: it is for linux\/arm64\. Choose another image, or give `platform`$/,
    ],
    [
      'a reference that names nothing',
      () => 'dir:/somewhere',
      'ERR_IMAGE_SOURCE',
      /^"dir:\/somewhere" names no image: give 'oci:\/path:tag'/,
    ],
    [
      'an entry below a link that leads above the root',
      () => `oci:${layoutOf([[{ path: 'a', type: 'symlink', link: '../../etc' }], [file('a/passwd', '')]])}`,
      'ERR_IMAGE_ARCHIVE',
      /layer sha256:\w+ holds a\/passwd, which lies below the symbolic link to \.\.\/\.\.\/etc, and that leads out of the tree: do not use it$/,
    ],
    [
      'an entry below a link that leads nowhere',
      () => `oci:${layoutOf([[{ path: 'a', type: 'symlink', link: 'gone' }], [file('a/passwd', '')]])}`,
      'ERR_IMAGE_ARCHIVE',
      /holds a\/passwd, which lies below the symbolic link to gone, and no directory is there: make it again$/,
    ],
  ])('%s', async ([, reference, code, message]) => {
    const cacheRoot = join(folder, `refused-${layouts++}`)
    const error: unknown = await oci(reference())
      .resolve({ cacheRoot })
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'ImageError', code, message: expect.stringMatching(message) as string })
    expect(filesIn(cacheRoot)).toEqual([])
  })

  test('an index for several platforms gives the one of this machine, or the one that is asked for', async () => {
    const [amd64, arm64] = [layoutOf(plain), layoutOf([[file('a', 'other')]], { architecture: 'arm64' })]
    const both = join(folder, 'both')
    writeIndex(both, [amd64, arm64])
    const context = { cacheRoot: join(folder, 'cache') }
    expect(await oci(`oci:${both}`).resolve(context)).toMatchObject({ architecture: 'x86_64' })
    expect(await oci(`oci:${both}`, { platform: 'linux/arm64' }).resolve(context)).toMatchObject({
      architecture: 'aarch64',
    })
    await expect(oci(`oci:${both}`, { platform: 'linux/riscv64' }).resolve(context)).rejects.toThrow(
      /it is for linux\/amd64, linux\/arm64/,
    )
  })
})

function filesIn(cacheRoot: string): string[] {
  try {
    return (readdirSync(cacheRoot, { recursive: true }) as string[]).filter((path) => path.split('/').length > 2)
  } catch {
    return []
  }
}
