import { createGunzip, createZstdDecompress } from 'node:zlib'
import { ImageError } from '../errors.ts'
import { drained, pipeTool } from '../run-tool.ts'
import { ByteReader } from './byte-reader.ts'

/** How a stream is compressed, told from its first bytes. */
export type Compression = 'none' | 'gzip' | 'zstd' | 'xz' | 'bzip2'

const MAGICS: readonly (readonly [Compression, string])[] = [
  ['gzip', '1f8b'],
  ['zstd', '28b52ffd'],
  ['xz', 'fd377a585a00'],
  ['bzip2', '425a68'],
]

/** Which compression the first bytes (six are enough) show. */
export function compressionOf(start: Uint8Array): Compression {
  const hex = Buffer.from(start.subarray(0, 6)).toString('hex')
  return MAGICS.find(([, magic]) => hex.startsWith(magic))?.[0] ?? 'none'
}

/** The plain bytes of a stream that may be compressed. Fails with ERR_IMAGE_ARCHIVE, or what the stream fails with. */
export async function* decompress(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const reader = new ByteReader(chunks)
  const start = await reader.read(6)
  const whole = (async function* () {
    yield start
    yield* reader.pieces(Number.MAX_SAFE_INTEGER)
  })()
  const compression = compressionOf(start)
  try {
    if (compression === 'none') yield* whole
    else if (compression === 'gzip' || compression === 'zstd') yield* throughZlib(whole, compression, name)
    else
      yield* pipeTool(compression, ['-dc'], {
        input: whole,
        whenMissing: toolRemedy(compression),
        signal,
      })
  } catch (error) {
    if (!(error instanceof ImageError) || error.code !== 'ERR_IMAGE_COMMAND') throw error
    throw damaged(name, compression, error)
  } finally {
    await reader.close()
  }
}

async function* throughZlib(
  whole: AsyncIterable<Uint8Array>,
  compression: 'gzip' | 'zstd',
  name: string,
): AsyncGenerator<Uint8Array> {
  const stream =
    compression === 'gzip' ? createGunzip({ chunkSize: 1 << 18 }) : createZstdDecompress({ chunkSize: 1 << 18 })
  let failure: unknown
  const feeding = (async () => {
    try {
      for await (const chunk of whole) {
        if (stream.destroyed) return
        if (!stream.write(chunk)) await drained(stream)
      }
      stream.end()
    } catch (error) {
      failure = error
      stream.destroy()
    }
  })()
  try {
    yield* stream as AsyncIterable<Uint8Array>
  } catch (error) {
    // What went wrong before the decompressor is the cause, not that its input ended.
    throw failure ?? damaged(name, compression, error)
  } finally {
    stream.destroy()
    await feeding
  }
  if (failure !== undefined) throw failure
}

function damaged(name: string, compression: Compression, cause: unknown): ImageError {
  const words = cause instanceof Error ? cause.message : String(cause)
  const message = `${name} is damaged or cut: its ${compression} data cannot be unpacked (${words}). Make or fetch it again`
  return new ImageError('ERR_IMAGE_ARCHIVE', message, cause)
}

function toolRemedy(compression: Compression): string {
  return `install the package ${compression === 'xz' ? 'xz-utils' : compression}, or compress the archive with gzip or zstd`
}
