import { type Command, InvalidArgumentError, Option } from 'commander'
import { debian, directory, disk, oci, tarball } from '../images/sources/index.ts'
import type { FormatOptions, ImageSource, RootFormat } from '../images/root-image.ts'
import { stateRoot } from '../state-root.ts'
import { sizeText } from '../images/byte-size.ts'
import { imageProgress } from './image-progress.ts'

interface MakeFlags {
  readonly format?: RootFormat
  readonly freeMib?: number
  readonly platform?: string
  readonly package?: readonly string[]
  readonly mirror?: string
  readonly tlsVerify?: boolean
  readonly json?: boolean
}

type Make = (place: string, flags: MakeFlags) => ImageSource

const SOURCES: Readonly<Record<string, Make>> = {
  directory: (place, flags) => directory(place, formatOf(flags)),
  tarball: (place, flags) => tarball(place, formatOf(flags)),
  disk: (place) => disk(place),
  debian: (suite, flags) => {
    const { package: packages, mirror } = flags
    return debian({ suite, ...formatOf(flags), ...(packages && { packages }), ...(mirror && { mirror }) })
  },
  oci: (reference, flags) => {
    const { platform, tlsVerify } = flags
    return oci(reference, {
      ...formatOf(flags),
      ...(platform !== undefined && { platform }),
      // commander sets the positive of --no-tls-verify; it is not for us to insist on it.
      ...(tlsVerify === false && { tlsVerify }),
    })
  },
}

/** Adds `boxlab image make`: an image before a suite needs it, with its progress. */
export function addImageMake(image: Command): void {
  image
    .command('make')
    .description('Makes an image and puts it into the cache, where suites find it.')
    .argument('<source>', `one of ${Object.keys(SOURCES).join(', ')}`, sourceOf)
    .argument('<place>', 'a path, a Debian suite, or a reference such as localhost:5000/name:tag or oci:/path:tag')
    .addOption(new Option('--format <format>', 'of the image, default ext4').choices(['ext4', 'erofs', 'initramfs']))
    .option('--free-mib <number>', 'room in an ext4 image for boxes that write to it, default 0', wholeNumber)
    .option('--platform <platform>', "oci: such as linux/arm64, default this machine's")
    .option('--no-tls-verify', 'oci: take any certificate, and plain http')
    .option('--package <name...>', 'debian: packages beside the essential ones')
    .option('--mirror <address>', "debian: default Debian's own")
    .option('--json', 'print the image as JSON')
    .action(async (source: string, place: string, flags: MakeFlags) => {
      process.exitCode = await make(SOURCES[source]!(place, flags), flags.json === true)
    })
}

async function make(source: ImageSource, json: boolean): Promise<0 | 1 | 130> {
  const view = imageProgress(process.stderr)
  const controller = new AbortController()
  const interrupt = (): void => controller.abort(new Error('interrupted'))
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
  try {
    const context = { cacheRoot: stateRoot(), signal: controller.signal, progress: view.progress }
    const image = await source.resolve(context).finally(() => view.end())
    const { path, format, bytes, digest, cached } = image
    const text = `${path}\n${format}, ${sizeText(bytes)}, ${digest}${cached ? ', was there already' : ''}\n`
    process.stdout.write(json ? `${JSON.stringify(image, null, 2)}\n` : text)
    return 0
  } catch (error) {
    process.stderr.write(`boxlab: ${error instanceof Error ? error.message : String(error)}\n`)
    return controller.signal.aborted ? 130 : 1
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
  }
}

function formatOf({ format, freeMib }: MakeFlags): FormatOptions {
  return { ...(format !== undefined && { format }), ...(freeMib !== undefined && { freeMib }) }
}

function sourceOf(text: string): string {
  if (Object.hasOwn(SOURCES, text)) return text
  throw new InvalidArgumentError(`It must be one of ${Object.keys(SOURCES).join(', ')}.`)
}

function wholeNumber(text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number.')
}
