import { type BootPlan, BoxError } from '@boxlab/native'
import type { Kernel } from '../images/index.ts'
import type { ImageContext, ImageSource, RootImage } from '../images/root-image.ts'
import { findVirtiofsd } from '../images/virtiofsd.ts'
import type { Stage0 } from './description.ts'
import { modulesDisk } from './modules-disk.ts'

/** What an image adds to the plan of a box. */
export interface ImageRoot {
  readonly image: RootImage
  /** It was in the cache, and so was what goes with it. */
  readonly cached: boolean
  readonly stage0: Stage0
  readonly disks: BootPlan['disks']
  readonly shares: NonNullable<BootPlan['shares']>
  readonly digests: Readonly<Record<string, string>>
}

// Serial numbers of virtio disks or the tag of a share, which are also their ids: at most 20 bytes.
const rootId = 'boxlab-root'
const modulesSerial = 'boxlab-modules'

/** Gets the image and what stage 0 needs beside it. */
export async function imageRoot(
  source: ImageSource,
  kernel: Kernel,
  writes: 'overlay' | 'disk',
  context: ImageContext,
): Promise<ImageRoot> {
  const [image, modules] = await Promise.all([source.resolve(context), modulesDisk(kernel, context)])
  const { architecture = 'x86_64', format } = image
  if (architecture !== 'x86_64') {
    const message = `the image ${source.name} is of ${architecture}, and the guest is x86_64: take the image of this platform`
    throw new BoxError('ERR_BOX_IMAGE', message)
  }
  if (format === 'initramfs') {
    const message = `the image ${source.name} is an initramfs, which is no root for stage 0: take the format 'ext4' or 'erofs'`
    throw new BoxError('ERR_BOX_IMAGE', message)
  }
  const isShare = format === 'virtiofs'
  if (isShare && writes === 'disk') {
    const message = `\`writes: 'disk'\`: the image ${source.name} is a folder of this host, which no box writes to: leave \`writes\` out, or take the format 'ext4'`
    throw new BoxError('ERR_BOX_IMAGE', message)
  }
  const filesystem = format === 'ext4' || format === 'erofs' ? format : undefined
  const overlay = writes === 'overlay' || format === 'erofs'
  const stage0: Stage0 = {
    root: isShare ? { tag: rootId } : { serial: rootId, ...(filesystem && { filesystem }) },
    overlay,
    ...(modules && { modules: { serial: modulesSerial, filesystem: 'ext4' } }),
    ...(image.hasInit && { init: image.init ?? '/sbin/init' }),
  }
  const shares = isShare ? [{ id: rootId, path: image.path, daemon: await findVirtiofsd(image.path, context) }] : []
  const disks = [
    ...(isShare ? [] : [disk(rootId, image.path, format === 'qcow2' ? 'qcow2' : 'raw', overlay)]),
    ...(modules ? [disk(modulesSerial, modules.path, 'raw', true)] : []),
  ]
  const cached = image.cached && (modules?.cached ?? true)
  return { image, cached, stage0, disks, shares, digests: { image: image.digest } }
}

function disk(id: string, path: string, format: 'raw' | 'qcow2', readonly: boolean): BootPlan['disks'][number] {
  return { id, path, format, readonly, interface: 'virtio' }
}
