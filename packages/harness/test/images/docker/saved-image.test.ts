import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { addSaved, unpackSaved } from '../../../src/images/docker/saved-image.ts'
import { Spool } from '../../../src/images/tree/spool.ts'
import { TreeBuilder } from '../../../src/images/tree/tree-builder.ts'
import { walkTree } from '../../../src/images/tree/node.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { archive, type Member } from './base-image.ts'

async function bytesOf(members: readonly Member[]): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of archive(members)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const file = (path: string, data: string | Buffer): Member => ({ path, data: Buffer.from(data) })

const lower = await bytesOf([file('a', 'lower'), file('gone', 'x')])
const upper = await bytesOf([file('b', 'upper'), file('.wh.gone', '')])

function configuration(layers: readonly Buffer[]): string {
  const diffIds = layers.map((layer) => `sha256:${sha256(layer)}`)
  return JSON.stringify({
    architecture: 'arm64',
    config: { Env: ['A=b=c', 'D'], User: 'me', Cmd: null },
    rootfs: { diff_ids: diffIds },
  })
}

async function read(members: readonly Member[]): Promise<{ names: string[]; facts: object }> {
  const folder = await temporaryFolder()
  const saved = await unpackSaved(archive(members), join(folder, 'saved'), 'container web')
  const spool = await Spool.create(join(folder, 'spool'))
  try {
    const tree = new TreeBuilder(spool)
    const facts = await addSaved(tree, saved, 'container web', () => {})
    return { names: [...walkTree(tree.root)].map(({ path }) => path), facts }
  } finally {
    await spool.close()
  }
}

describe('what an engine saves', () => {
  test('is read from the archive of an old engine, which links equal layers', async () => {
    const manifest = [{ Config: 'c.json', Layers: ['1/layer.tar', '2/layer.tar', '3/layer.tar'] }]
    const { names, facts } = await read([
      file('1/layer.tar', lower),
      file('3/layer.tar', upper),
      { path: '2/layer.tar', type: '2', link: '../1/layer.tar' },
      file('c.json', configuration([lower, lower, upper])),
      file('manifest.json', JSON.stringify(manifest)),
    ])
    expect(names).toEqual(['', 'a', 'b'])
    expect(facts).toMatchObject({ architecture: 'aarch64', config: { env: { A: 'b=c', D: '' }, user: 'me' } })
  })

  test('is read from the OCI layout of a new engine, with compressed layers', async () => {
    const packed = gzipSync(lower)
    const manifest = [{ Config: 'blobs/sha256/c', Layers: [`blobs/sha256/${sha256(packed)}`, 'blobs/sha256/u'] }]
    const { names } = await read([
      file('blobs/sha256/c', configuration([lower, upper])),
      file(`blobs/sha256/${sha256(packed)}`, packed),
      file('blobs/sha256/u', upper),
      file('index.json', '{}'),
      file('manifest.json', JSON.stringify(manifest)),
      file('oci-layout', '{}'),
    ])
    expect(names).toEqual(['', 'a', 'b'])
  })

  test.for<[string, readonly Member[], string, RegExp]>([
    ['without a manifest', [file('a', 'b')], 'ERR_IMAGE_ARCHIVE', /container web .*it lacks manifest\.json/],
    ['with two images', [file('manifest.json', '[{},{}]')], 'ERR_IMAGE_ARCHIVE', /does not hold one image/],
    ['without JSON', [file('manifest.json', '{')], 'ERR_IMAGE_ARCHIVE', /no JSON/],
    [
      'with a layer of other bytes',
      [
        file('l', upper),
        file('c', configuration([lower])),
        file('manifest.json', JSON.stringify([{ Config: 'c', Layers: ['l'] }])),
      ],
      'ERR_IMAGE_DIGEST',
      /container web, layer 1 of 1 has the digest sha256:/,
    ],
    [
      'with a layer too few',
      [file('c', configuration([lower])), file('manifest.json', JSON.stringify([{ Config: 'c', Layers: [] }]))],
      'ERR_IMAGE_ARCHIVE',
      /0 layers and names 1/,
    ],
    [
      'with links in a circle',
      [
        { path: 'l', type: '2', link: 'l' },
        file('c', configuration([lower])),
        file('manifest.json', JSON.stringify([{ Config: 'c', Layers: ['l'] }])),
      ],
      'ERR_IMAGE_ARCHIVE',
      /it lacks l/,
    ],
  ])('%s is refused', async ([, members, code, message]) => {
    await expect(read(members)).rejects.toMatchObject({ code, message: expect.stringMatching(message) as string })
  })
})
