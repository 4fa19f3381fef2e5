import type { ModuleRequest } from './images/index.ts'
import type { BoxOptions } from './options.ts'
import type { Stage0 } from './stage0/description.ts'

/**
 * The kernel modules that a box's own devices need, and those that the user wants: each costs a slow guest some 20 ms,
 * so none is loaded for a device that is not there. What a kernel has built in costs nothing; a needed one that it does
 * not have at all is an error that names it. A kernel without a module folder (`hasModules` false) is taken to have the
 * needed ones built in.
 */
export function guestModules(
  options: Pick<BoxOptions, 'machine' | 'devices' | 'disks' | 'modules'>,
  hasModules = true,
  stage0?: Stage0,
): ModuleRequest[] {
  const [machine = 'q35', ...properties] = (options.machine ?? 'q35').split(',')
  const pci = machine !== 'microvm' || properties.includes('pcie=on')
  const { devices = {} } = options
  const root = stage0?.root
  const isShare = root !== undefined && 'tag' in root
  const hasDisk = (root && !isShare) || stage0?.modules || options.disks?.some((disk) => disk.interface !== 'ide')
  const filesystem = isShare ? 'virtiofs' : root?.filesystem
  const ofModules = stage0?.modules?.filesystem
  const needed = [
    pci ? 'virtio_pci' : 'virtio_mmio',
    'virtio_console',
    ...(hasDisk ? ['virtio_blk'] : []),
    ...(filesystem ? [filesystem] : []),
    ...(ofModules && ofModules !== filesystem ? [ofModules] : []),
    ...(stage0?.overlay ? ['overlay'] : []),
    ...(devices.net === 'user' ? ['virtio_net'] : []),
    ...(devices.balloon ? ['virtio_balloon'] : []),
  ]
  // A kernel without these boots as well: its own random numbers are slower, and a panic is read from the console.
  // Of a disk of the user's: what it holds is seen in the guest.
  const filesystems = root && !filesystem ? ['ext4', 'erofs', 'btrfs', 'xfs', 'squashfs'] : []
  const wanted = [...filesystems, ...(devices.rng === false ? [] : ['virtio_rng']), ...(pci ? ['pvpanic_pci'] : [])]
  return [
    ...needed.map((name) => ({ name, optional: !hasModules })),
    ...wanted.map((name) => ({ name, optional: true })),
    ...(options.modules ?? []),
  ]
}
