/** Bytes or text that is already there, whole or in chunks. Text counts as its UTF-8 bytes. */
export type ByteInput = Uint8Array | string | Iterable<Uint8Array | string>

/** An input under the name that diagnostics call it by. */
export interface NamedInput {
  readonly name: string
  readonly input: ByteInput
}

/** The same as it arrives, such as a `ReadStream`. */
export type AsyncByteInput = AsyncIterable<Uint8Array | string>

/** Turns chunks into bytes. Has memory: a text chunk may end between the halves of a surrogate pair. */
export interface ChunkEncoder {
  push(chunk: Uint8Array | string): Uint8Array
  end(): Uint8Array
}

const NOTHING: Uint8Array = new Uint8Array(0)

/** Makes a {@link ChunkEncoder}. */
export function encodeChunks(): ChunkEncoder {
  const encoder = new TextEncoder()
  let half = ''
  return {
    push(chunk) {
      if (typeof chunk !== 'string') return chunk
      const text = half + chunk
      half = endsInHighSurrogate(text) ? text.slice(-1) : ''
      return encoder.encode(half === '' ? text : text.slice(0, -1))
    },
    end() {
      const rest = half
      half = ''
      return rest === '' ? NOTHING : encoder.encode(rest)
    },
  }
}

function endsInHighSurrogate(text: string): boolean {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff
}

/** The chunks of an input, in order. */
export function chunksOf(input: ByteInput): Iterable<Uint8Array | string> {
  return typeof input === 'string' || input instanceof Uint8Array ? [input] : input
}
