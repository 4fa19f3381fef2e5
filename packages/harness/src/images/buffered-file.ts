import { type FileHandle, open } from 'node:fs/promises'
import { isNoSpace, noSpace } from './errors.ts'

const BUFFER_BYTES = 1 << 20

/** A new file that is written from front to back in large pieces, and can be read meanwhile. */
export class BufferedFile {
  readonly #file: FileHandle
  readonly #doing: string
  readonly #buffer: Buffer = Buffer.allocUnsafe(BUFFER_BYTES)
  #buffered = 0
  #written = 0

  private constructor(file: FileHandle, doing: string) {
    this.#file = file
    this.#doing = doing
  }

  /** `doing` begins the error of a full disk, such as `Writing the image`. */
  static async create(path: string, doing: string): Promise<BufferedFile> {
    return new BufferedFile(await open(path, 'wx+', 0o600), doing)
  }

  /** Where the next byte goes. */
  get position(): number {
    return this.#written + this.#buffered
  }

  /** Fails with ERR_IMAGE_SPACE. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      if (this.#buffered === BUFFER_BYTES) await this.#flush()
      const part = bytes.subarray(at, at + BUFFER_BYTES - this.#buffered)
      this.#buffer.set(part, this.#buffered)
      this.#buffered += part.length
      at += part.length
    }
  }

  /** Leaves a hole up to `position`, which must not lie behind. */
  async skipTo(position: number): Promise<void> {
    if (position < this.position) throw new Error(`position ${position} was written already`)
    await this.#flush()
    this.#written = position
  }

  /** What was written between two positions, in chunks of at most 1 MiB. A chunk is valid until the next is asked for. */
  async *read(from: number, end: number): AsyncGenerator<Buffer> {
    await this.#flush()
    const buffer = Buffer.allocUnsafe(Math.min(BUFFER_BYTES, end - from))
    for (let at = from; at < end;) {
      const { bytesRead } = await this.#file.read(buffer, 0, Math.min(buffer.length, end - at), at)
      if (bytesRead === 0) throw new Error('the file is shorter than what was put into it')
      yield buffer.subarray(0, bytesRead)
      at += bytesRead
    }
  }

  /** Ends the file at the position. */
  async finish(): Promise<void> {
    await this.#flush()
    await this.#file.truncate(this.#written)
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  async #flush(): Promise<void> {
    try {
      for (let at = 0; at < this.#buffered;) {
        const { bytesWritten } = await this.#file.write(this.#buffer, at, this.#buffered - at, this.#written)
        at += bytesWritten
        this.#written += bytesWritten
      }
    } catch (error) {
      throw isNoSpace(error) ? noSpace(this.#doing, error) : error
    }
    this.#buffered = 0
  }
}
