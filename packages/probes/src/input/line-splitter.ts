/** One line of the input, without its `\n`. */
export interface InputLine {
  /** Line number from 1; lines end with `\n`. */
  readonly number: number
  /** Where the line begins, in bytes from the start of the input. */
  readonly byteOffset: number
  /** The bytes; empty when the line was longer than the cap. */
  readonly bytes: Uint8Array
  /** False for a last line that no `\n` ended. */
  readonly terminated: boolean
  /** True when the line was longer than the cap and its bytes were dropped. */
  readonly tooLong: boolean
}

/** A line longer than this is dropped with a diagnostic, so that no input can exhaust memory. */
export const LINE_CAP_BYTES: number = 64 * 1024 * 1024

/** Splits pushed chunks into lines; the result does not depend on where the chunks were cut. */
export interface LineSplitter {
  push(chunk: Uint8Array): InputLine[]
  /** Ends the input: the last line if no newline ended it. */
  end(): InputLine[]
}

const NEWLINE = 10
const NOTHING: Uint8Array = new Uint8Array(0)

/** Makes a splitter whose lines are at most `capBytes` long. */
export function splitLines(capBytes: number = LINE_CAP_BYTES): LineSplitter {
  let pieces: Uint8Array[] = []
  let pendingBytes = 0
  let number = 1
  let lineStart = 0

  function keep(piece: Uint8Array): void {
    pendingBytes += piece.length
    if (pendingBytes > capBytes) pieces = []
    // A copy, because streams may reuse the buffer of a chunk.
    else if (piece.length > 0) pieces.push(piece.slice())
  }

  function finish(terminated: boolean): InputLine {
    const tooLong = pendingBytes > capBytes
    const line = {
      number,
      byteOffset: lineStart,
      bytes: tooLong ? NOTHING : join(pieces, pendingBytes),
      terminated,
      tooLong,
    }
    number += 1
    lineStart += pendingBytes + 1
    pieces = []
    pendingBytes = 0
    return line
  }

  return {
    push(chunk) {
      const lines: InputLine[] = []
      let from = 0
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        keep(chunk.subarray(from, at))
        lines.push(finish(true))
        from = at + 1
      }
      keep(chunk.subarray(from))
      return lines
    },
    end() {
      return pendingBytes === 0 ? [] : [finish(false)]
    },
  }
}

function join(pieces: readonly Uint8Array[], totalBytes: number): Uint8Array {
  const [only] = pieces
  if (pieces.length === 1 && only !== undefined) return only
  const joined = new Uint8Array(totalBytes)
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}
