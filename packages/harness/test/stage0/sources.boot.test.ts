import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { stateRoot } from '@boxlab/harness'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  bootBox,
  type Box,
  directory,
  disk,
  dockerfile,
  type ImageSource,
  oci,
  tarball,
} from '../../src/vitest/index.ts'
import { buildFolder } from '../images/docker/build-folder.ts'
import { useEngine } from '../images/docker/engine.ts'
import { tarOf, writeLayout } from '../images/roots/archives.ts'
import { copyImage, type Registry, startRegistry } from '../images/roots/registry.ts'
import { sampleRoot } from '../images/roots/sample-root.ts'
import { folderListing, guestListing } from './guest-listing.ts'

const scratch = mkdtempSync(join(tmpdir(), 'boxlab-sources-'))
const docker = useEngine()
let registry: Registry | undefined
afterAll(async () => {
  await registry?.stop()
  rmSync(scratch, { recursive: true, maxRetries: 5 })
})

const root = join(scratch, 'root')

const sources: Record<string, () => Promise<ImageSource> | ImageSource> = {
  directory: () => directory(root),
  tarball: () => tarball(join(scratch, 'root.tar')),
  'oci layout': () => oci(`oci:${join(scratch, 'layout')}:latest`),
  'oci registry': () => oci(`${registry?.address}/lab/root:1`),
  dockerfile: async () => dockerfile(await buildFolder('FROM boxlab-test-root:1\n')),
  disk: () => disk(join(scratch, 'disk.img')),
}

beforeAll(async () => {
  sampleRoot(root, { xattrs: false })
  // The agent is process 1 of what has no init: the listing is taken without anybody changing anything.
  rmSync(join(root, 'sbin/init'))
  const tar = tarOf(root)
  writeFileSync(join(scratch, 'root.tar'), tar)
  writeLayout(join(scratch, 'layout'), [tar])
  registry = await startRegistry(join(scratch, 'registry'))
  const flags = ['--dest-tls-verify=false']
  copyImage(`oci:${join(scratch, 'layout')}:latest`, `docker://${registry.address}/lab/root:1`, flags)
  // Docker cannot save what it imported from an archive with sparse members.
  const plain = execFileSync('tar', ['-C', root, '--numeric-owner', '-cf', '-', '.'], { maxBuffer: 1 << 28 })
  await docker.importImage('boxlab-test-root:1', Readable.from([plain]))
  const { path } = await directory(root).resolve({ cacheRoot: stateRoot() })
  copyFileSync(path, join(scratch, 'disk.img'))
}, 120_000)

test.for(Object.keys(sources))('a guest sees of %s what was given to it, byte for byte', async (name) => {
  const image = await sources[name]?.()
  if (!image) throw new Error(`no source ${name}`)
  await using box: Box = await bootBox({ image, devices: { net: 'none' } })
  expect(await guestListing(box)).toBe(folderListing(root))
})
