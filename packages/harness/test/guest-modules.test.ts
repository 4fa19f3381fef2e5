import { expect, test } from 'vitest'
import { guestModules } from '../src/guest-modules.ts'
import type { Stage0 } from '../src/stage0/description.ts'

const names = (options: Parameters<typeof guestModules>[0], stage0?: Stage0): string[] =>
  guestModules(options, true, stage0).map((request) =>
    typeof request === 'string' ? request : request.name + (request.optional ? '?' : ''),
  )

test('a bare box loads what its channel, random numbers and panic notifier need', () => {
  expect(names({})).toEqual(['virtio_pci', 'virtio_console', 'virtio_rng?', 'pvpanic_pci?'])
})

test('a kernel without a module folder is taken to have what is needed built in, but not what the user asks for', () => {
  const requests = guestModules({ modules: ['overlay'] }, false)
  expect(requests.slice(0, 2)).toEqual([
    { name: 'virtio_pci', optional: true },
    { name: 'virtio_console', optional: true },
  ])
  expect(requests.at(-1)).toBe('overlay')
})

test('a microvm has its devices on the mmio bus unless it has pcie', () => {
  expect(names({ machine: 'microvm' })).toEqual(['virtio_mmio', 'virtio_console', 'virtio_rng?'])
  expect(names({ machine: 'microvm,pcie=on' })).toContain('virtio_pci')
  expect(names({ machine: 'q35,pcie=off' })).toContain('virtio_pci')
})

test('each device brings its own, and the user’s come last', () => {
  const options = {
    devices: { rng: false, net: 'user', balloon: true },
    disks: [{ path: '/d' }],
    modules: ['overlay'],
  } as const
  expect(names(options)).toEqual([
    'virtio_pci',
    'virtio_console',
    'virtio_blk',
    'virtio_net',
    'virtio_balloon',
    'pvpanic_pci?',
    'overlay',
  ])
  expect(names({ disks: [{ path: '/d', interface: 'ide' }] })).not.toContain('virtio_blk')
})

test('an image’s root brings its file system, and a shared folder no disk but that of the modules', () => {
  const devices = { rng: false }
  const modules = { serial: 'boxlab-modules', filesystem: 'ext4' } as const
  const ofRoot = (root: Stage0['root'], rest: Partial<Stage0> = {}): string[] =>
    names({ devices }, { root, overlay: true, ...rest }).slice(2, -1)
  expect(ofRoot({ tag: 'root' })).toEqual(['virtiofs', 'overlay'])
  expect(ofRoot({ tag: 'root' }, { modules })).toEqual(['virtio_blk', 'virtiofs', 'ext4', 'overlay'])
  expect(ofRoot({ serial: 'root', filesystem: 'ext4' }, { modules })).toEqual(['virtio_blk', 'ext4', 'overlay'])
  expect(ofRoot({ serial: 'root', filesystem: 'erofs' }, { modules })).toEqual([
    'virtio_blk',
    'erofs',
    'ext4',
    'overlay',
  ])
})
