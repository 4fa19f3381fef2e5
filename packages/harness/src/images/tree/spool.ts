import { createHash, type Hash } from 'node:crypto'
import { BufferedFile } from '../buffered-file.ts'
import type { Piece } from '../tar/read-tar.ts'
import type { BlockRun, Content } from './node.ts'

export const SPOOL_BLOCK_BYTES = 4096
const ZEROS = Buffer.alloc(SPOOL_BLOCK_BYTES)
const START_BYTES = 64

/**
 * Keeps the contents of files, one after another in one file, without blocks that are all zeros. So a source is read
 * once, as a stream; and an image can be laid out in an order of its own, since that needs all sizes first.
 */
export class Spool {
  readonly #file: BufferedFile

  private constructor(file: BufferedFile) {
    this.#file = file
  }

  static async create(path: string): Promise<Spool> {
    return new Spool(await BufferedFile.create(path, 'Unpacking the image'))
  }

  /** Bytes that are kept. */
  get bytes(): number {
    return this.#file.position
  }

  /** Keeps a file of `size` bytes. Fails with ERR_IMAGE_SPACE, or with what the pieces fail with. */
  async add(pieces: AsyncIterable<Piece>, size: number): Promise<Content> {
    const adding = new Adding((blocks) => this.#append(blocks))
    for await (const { offset, bytes } of pieces) await adding.take(offset, bytes)
    return adding.finish(size)
  }

  /** The blocks of a run, in chunks of at most 1 MiB. A chunk is valid until the next is asked for. */
  read({ spoolBlock, count }: BlockRun): AsyncGenerator<Buffer> {
    return this.#file.read(spoolBlock * SPOOL_BLOCK_BYTES, (spoolBlock + count) * SPOOL_BLOCK_BYTES)
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  /** Gives the number of the first block. */
  async #append(blocks: Buffer): Promise<number> {
    const number = this.bytes / SPOOL_BLOCK_BYTES
    await this.#file.write(blocks)
    return number
  }
}

/** One file on its way into the spool, block by block; pieces need not begin or end where blocks do. */
class Adding {
  readonly #append: (blocks: Buffer) => Promise<number>
  readonly #hash: Hash = createHash('sha256')
  readonly #runs: BlockRun[] = []
  readonly #partial: Buffer = Buffer.alloc(SPOOL_BLOCK_BYTES)
  #partialBlock = -1
  #start: Buffer = Buffer.alloc(0)

  constructor(append: (blocks: Buffer) => Promise<number>) {
    this.#append = append
  }

  async take(offset: number, bytes: Buffer): Promise<void> {
    if (offset === this.#start.length && offset < START_BYTES) {
      this.#start = Buffer.concat([this.#start, bytes.subarray(0, START_BYTES - offset)])
    }
    for (let at = 0; at < bytes.length;) {
      const block = Math.floor((offset + at) / SPOOL_BLOCK_BYTES)
      const inBlock = (offset + at) % SPOOL_BLOCK_BYTES
      const left = bytes.length - at
      if (block !== this.#partialBlock) await this.#endPartial()
      if (inBlock === 0 && left >= SPOOL_BLOCK_BYTES) {
        const whole = left - (left % SPOOL_BLOCK_BYTES)
        await this.#wholeBlocks(block, bytes.subarray(at, at + whole))
        at += whole
        continue
      }
      this.#partialBlock = block
      at += bytes.copy(this.#partial, inBlock, at, at + Math.min(left, SPOOL_BLOCK_BYTES - inBlock))
    }
  }

  async finish(size: number): Promise<Content> {
    await this.#endPartial()
    const places = this.#runs.map(({ fileBlock, count }) => `${fileBlock}+${count}`).join(',')
    const sha256 = createHash('sha256').update(`${size} ${places} `).update(this.#hash.digest()).digest('hex')
    return { size, runs: this.#runs, sha256, start: this.#start }
  }

  async #endPartial(): Promise<void> {
    if (this.#partialBlock < 0) return
    const block = this.#partialBlock
    this.#partialBlock = -1
    await this.#wholeBlocks(block, this.#partial)
    this.#partial.fill(0)
  }

  /** Keeps each stretch of blocks that hold something. */
  async #wholeBlocks(first: number, bytes: Buffer): Promise<void> {
    const isZero = (index: number): boolean => {
      const at = index * SPOOL_BLOCK_BYTES
      return bytes.compare(ZEROS, 0, SPOOL_BLOCK_BYTES, at, at + SPOOL_BLOCK_BYTES) === 0
    }
    const count = bytes.length / SPOOL_BLOCK_BYTES
    for (let from = 0; from < count;) {
      if (isZero(from)) {
        from += 1
        continue
      }
      let to = from + 1
      while (to < count && !isZero(to)) to += 1
      await this.#keep(first + from, bytes.subarray(from * SPOOL_BLOCK_BYTES, to * SPOOL_BLOCK_BYTES))
      from = to
    }
  }

  async #keep(fileBlock: number, blocks: Buffer): Promise<void> {
    this.#hash.update(blocks)
    const spoolBlock = await this.#append(blocks)
    const count = blocks.length / SPOOL_BLOCK_BYTES
    const last = this.#runs.at(-1)
    if (last && last.fileBlock + last.count === fileBlock && last.spoolBlock + last.count === spoolBlock) {
      this.#runs[this.#runs.length - 1] = { ...last, count: last.count + count }
    } else this.#runs.push({ fileBlock, spoolBlock, count })
  }
}
