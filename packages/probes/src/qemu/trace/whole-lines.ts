import { LINE_CAP_BYTES } from '../../input/line-splitter.ts'

/** Takes bytes that are whole lines: `bytes[to - 1]` is a line feed. They are only lent, until it returns. */
export type WholeLinesReader = (bytes: Uint8Array, from: number, to: number) => void

/**
 * Cuts chunks at the last line feed, so that a reader sees whole lines and nearly all of them without a copy. The result
 * does not depend on where the chunks were cut.
 */
export interface WholeLines {
  push(chunk: Uint8Array): void
  /** Ends the input: what stands behind the last line feed, or `undefined`; `tooLong` when it was dropped. */
  end(): { readonly rest: Uint8Array; readonly tooLong: boolean } | undefined
}

const LINE_FEED = 10

/** Makes a {@link WholeLines}. `onTooLong` is called for each line that was longer than `capBytes`, with its line feed, and came in pieces: it was
 * dropped. */
export function wholeLines(
  read: WholeLinesReader,
  onTooLong: () => void,
  capBytes: number = LINE_CAP_BYTES,
): WholeLines {
  let carry: Uint8Array = new Uint8Array(4096)
  let carried = 0
  let dropping = false

  function keep(bytes: Uint8Array, from: number, to: number): void {
    if (dropping) return
    const length = carried + (to - from)
    if (length > capBytes) {
      dropping = true
      carried = 0
      return
    }
    if (length > carry.length) {
      const larger = new Uint8Array(Math.max(length, carry.length * 2))
      larger.set(carry.subarray(0, carried))
      carry = larger
    }
    carry.set(bytes.subarray(from, to), carried)
    carried = length
  }

  return {
    push(given) {
      // A Buffer and a Uint8Array are two shapes to the compiler; the reader's loop shall see one.
      const bytes = new Uint8Array(given.buffer, given.byteOffset, given.byteLength)
      let from = 0
      if (carried > 0 || dropping) {
        const end = bytes.indexOf(LINE_FEED)
        if (end === -1) return keep(bytes, 0, bytes.length)
        keep(bytes, 0, end + 1)
        if (dropping) onTooLong()
        else read(carry, 0, carried)
        dropping = false
        carried = 0
        from = end + 1
      }
      const last = bytes.lastIndexOf(LINE_FEED)
      if (last >= from) read(bytes, from, last + 1)
      keep(bytes, Math.max(last + 1, from), bytes.length)
    },
    end() {
      if (dropping) return { rest: new Uint8Array(0), tooLong: true }
      return carried === 0 ? undefined : { rest: carry.subarray(0, carried), tooLong: false }
    },
  }
}
