import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { oci } from '../../../src/images/sources/index.ts'
import { tarOfMembers, writeIndex, writeLayout } from './archives.ts'
import { imageError, refusal } from './refusal.ts'
import { certificate, copyImage, type Registry, startRegistry } from './registry.ts'

const folder = mkdtempSync(join(tmpdir(), 'boxlab-registry-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const refusing = join(folder, 'refusing')

describe('a registry that wants something', { timeout: 30_000 }, () => {
  let plain: Registry
  let secure: Registry
  let tls: { certificate: string; key: string }
  beforeAll(async () => {
    writeLayout(join(folder, 'layout'), [tarOfMembers([{ path: 'file', data: 'x' }])])
    tls = certificate(join(folder, 'certificates'))
    plain = await startRegistry(join(folder, 'plain'), { password: true })
    secure = await startRegistry(join(folder, 'secure'), { tls })
    copyImage(`oci:${folder}/layout:latest`, `docker://${plain.address}/private:1`, [
      '--dest-tls-verify=false',
      '--dest-creds=boxlab:secret',
    ])
    copyImage(`oci:${folder}/layout:latest`, `docker://${secure.address}/name:1`, ['--dest-tls-verify=false'])
  })
  afterAll(async () => {
    await plain?.stop()
    await secure?.stop()
  })

  test('without credentials it says how to give some; with those of docker login it works', async () => {
    const before = process.env['DOCKER_CONFIG']
    try {
      process.env['DOCKER_CONFIG'] = join(folder, 'docker')
      mkdirSync(join(folder, 'docker'))
      writeFileSync(join(folder, 'docker/config.json'), '{}')
      const source = oci(`${plain.address}/private:1`)
      expect(await refusal(refusing, source)).toEqual(
        imageError('ERR_IMAGE_REGISTRY', /the registry wants other credentials: run `docker login` for it/),
      )
      const auth = Buffer.from('boxlab:secret').toString('base64')
      writeFileSync(join(folder, 'docker/config.json'), JSON.stringify({ auths: { [plain.address]: { auth } } }))
      expect(await source.resolve({ cacheRoot: join(folder, 'cache') })).toMatchObject({ format: 'ext4' })
      expect(await refusal(refusing, oci(`${plain.address}/private:2`))).toEqual(
        imageError('ERR_IMAGE_REGISTRY', /the registry has no such image: check its name and tag/),
      )
    } finally {
      if (before === undefined) delete process.env['DOCKER_CONFIG']
      else process.env['DOCKER_CONFIG'] = before
    }
  })

  test('over https its certificate is checked where that is asked for, with a folder of certificates', async () => {
    const reference = `${secure.address.replace('127.0.0.1', 'localhost')}/name:1`
    expect(await refusal(refusing, oci(reference, { tlsVerify: true }))).toEqual(
      imageError('ERR_IMAGE_REGISTRY', /its certificate is not trusted: give `certificates`/),
    )
    const certificates = join(folder, 'trusted')
    mkdirSync(certificates)
    execFileSync('cp', [tls.certificate, join(certificates, 'ca.crt')])
    const context = { cacheRoot: join(folder, 'cache') }
    expect(await oci(reference, { tlsVerify: true, certificates }).resolve(context)).toMatchObject({ format: 'ext4' })
  })

  test('of an image for several platforms it gives the one that is asked for, also by the digest of all', async () => {
    const layouts = ['amd64', 'arm64'].map((architecture) => {
      writeLayout(join(folder, architecture), [tarOfMembers([{ path: 'for', data: architecture }])], { architecture })
      return join(folder, architecture)
    })
    writeIndex(join(folder, 'index'), layouts)
    const place = `${secure.address}/both:1`
    copyImage(`oci:${folder}/index:all`, `docker://${place}`, ['--all', '--dest-tls-verify=false'])
    const context = { cacheRoot: join(folder, 'cache') }
    const one = await oci(place).resolve(context)
    const other = await oci(place, { platform: 'linux/arm64' }).resolve(context)
    expect([one.architecture, other.architecture]).toEqual(['x86_64', 'aarch64'])
    expect(other.digest).not.toBe(one.digest)
    const error = await refusal(refusing, oci(place, { platform: 'linux/riscv64' }))
    expect(error).toEqual(
      imageError(
        'ERR_IMAGE_ARCHITECTURE',
        /has no image for linux\/riscv64: choose another image, or give `platform`$/,
      ),
    )

    const { digest } = (
      JSON.parse(readFileSync(join(folder, 'index/index.json'), 'utf8')) as { manifests: { digest: string }[] }
    ).manifests[0]!
    const pinned = oci(`${secure.address}/both@${digest}`)
    expect(await pinned.resolve(context)).toMatchObject({ path: one.path, cached: true })
    // What is in the cache by its digest needs no registry.
    await secure.stop()
    expect(await pinned.resolve(context)).toMatchObject({ path: one.path, cached: true })
    await expect(oci(place).resolve(context)).rejects.toThrow(/nobody answers there/)
  })
})
