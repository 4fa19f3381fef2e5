/** Reads a stream of chunks in pieces of the reader's choice. Has identity because it keeps what was not asked for yet. */
export class ByteReader {
  /** Bytes that were handed out so far. */
  position = 0
  readonly #chunks: AsyncIterator<Uint8Array>
  #rest: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** Exactly `length` bytes, or the fewer that were left before the end. */
  async read(length: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for await (const part of this.pieces(length)) parts.push(part)
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  }

  /** The next `length` bytes as they come, without copying; fewer where the stream ends. */
  async *pieces(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0;) {
      if (this.#rest.length === 0 && !(await this.#more())) return
      const part = this.#rest.subarray(0, left)
      this.#rest = this.#rest.subarray(part.length)
      this.position += part.length
      left -= part.length
      yield part
    }
  }

  /** Reads to the end, so that whoever checks the stream (a digest, a checksum) sees all of it. */
  async drain(): Promise<void> {
    do this.position += this.#rest.length
    while (await this.#more())
  }

  /** Ends the stream early. */
  async close(): Promise<void> {
    await this.#chunks.return?.()
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#chunks.next()
    if (done) {
      this.#rest = Buffer.alloc(0)
      return false
    }
    this.#rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    return true
  }
}
