import { type BootPlan, BoxError } from '@boxlab/native'
import type { Kernel } from '../images/index.ts'
import type { ImageSource, RootImage } from '../images/root-image.ts'
import type { Stage0 } from './description.ts'
import { modulesDisk } from './modules-disk.ts'

/** What an image adds to the plan of a box. */
export interface ImageRoot {
  readonly image: RootImage
  readonly stage0: Stage0
  readonly disks: BootPlan['disks']
  readonly digests: Readonly<Record<string, string>>
}

// Serial numbers of virtio disks, which are also their ids: at most 20 bytes.
const rootSerial = 'boxlab-root'
const modulesSerial = 'boxlab-modules'

/** Gets the image and what stage 0 needs beside it. */
export async function imageRoot(
  source: ImageSource,
  kernel: Kernel,
  writes: 'overlay' | 'disk',
  context: { readonly cacheRoot: string; readonly signal?: AbortSignal },
): Promise<ImageRoot> {
  const [image, modules] = await Promise.all([source.resolve(context), modulesDisk(kernel, context)])
  const { architecture = 'x86_64', format } = image
  if (architecture !== 'x86_64') {
    const message = `the image ${source.name} is of ${architecture}, and the guest is x86_64: take the image of this platform`
    throw new BoxError('ERR_BOX_IMAGE', message)
  }
  if (format !== 'ext4' && format !== 'erofs') {
    throw new BoxError('ERR_BOX_IMAGE', `the image ${source.name} is ${format}, which stage 0 cannot mount as a root`)
  }
  const overlay = writes === 'overlay' || format === 'erofs'
  const stage0: Stage0 = {
    root: { serial: rootSerial, filesystem: format },
    overlay,
    ...(modules && { modules: { serial: modulesSerial, filesystem: 'ext4' } }),
    ...(image.hasInit && { init: image.init ?? '/sbin/init' }),
  }
  const disks = [disk(rootSerial, image.path, overlay), ...(modules ? [disk(modulesSerial, modules.path, true)] : [])]
  return { image, stage0, disks, digests: { image: image.digest } }
}

function disk(id: string, path: string, readonly: boolean): BootPlan['disks'][number] {
  return { id, path, format: 'raw', readonly, interface: 'virtio' }
}
