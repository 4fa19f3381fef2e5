import { Duplex, Readable, Writable } from 'node:stream'
import type { NativeStream } from './binding.ts'
import { typed } from './errors.ts'

/** What streams report to: an error of the box's end is the stream's error. */
type Done = (error?: Error | null) => void

function readFrom(stream: NativeStream, into: Readable): void {
  typed(stream.read()).then(
    (bytes) => into.push(bytes),
    (error: Error) => into.destroy(error),
  )
}

async function finish(call: Promise<void>, done: Done): Promise<void> {
  let failure: Error | undefined
  try {
    await typed(call)
  } catch (error) {
    failure = error as Error
  }
  done(failure)
}

/** A command's output as a stream of exact bytes; reading it paces the command. */
export function readable(stream: NativeStream): Readable {
  return new Readable({
    read() {
      readFrom(stream, this)
    },
  })
}

/** A command's input; ending it is the command's end of file. */
export function writable(stream: NativeStream): Writable {
  return new Writable({
    write: (bytes: Buffer, _encoding, done) => void finish(stream.write(bytes), done),
    final: (done) => void finish(stream.end(), done),
  })
}

/** A connection. Each side ends on its own. */
export function duplex(stream: NativeStream): Duplex {
  return new Duplex({
    allowHalfOpen: true,
    read() {
      readFrom(stream, this)
    },
    write: (bytes: Buffer, _encoding, done) => void finish(stream.write(bytes), done),
    final: (done) => void finish(stream.end(), done),
    destroy: (error, done) => void finish(stream.end(), () => done(error)),
  })
}
