import { type FileHandle, open } from 'node:fs/promises'
import { isNoSpace, noSpace } from '../errors.ts'

const BUFFER_BYTES = 1 << 20

/** Writes a file from front to back in large pieces; zeros that are skipped become holes. */
export class ImageWriter {
  readonly #file: FileHandle
  readonly #buffer: Buffer = Buffer.allocUnsafe(BUFFER_BYTES)
  #buffered = 0
  #written = 0

  private constructor(file: FileHandle) {
    this.#file = file
  }

  static async create(path: string): Promise<ImageWriter> {
    return new ImageWriter(await open(path, 'wx', 0o600))
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
      throw isNoSpace(error) ? noSpace('Writing the image', error) : error
    }
    this.#buffered = 0
  }
}
