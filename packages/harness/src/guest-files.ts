import { resolve } from 'node:path'
import type { Machine } from '@boxlab/native'

/** A limit for a transfer. */
export interface TransferOptions {
  /** In milliseconds. Default: the box's `timeouts.execMs`. */
  readonly timeoutMs?: number
}

/** Files of the guest. Paths in the guest are absolute. */
export interface BoxFiles {
  /** The whole content of a file. */
  read(path: string, options?: TransferOptions): Promise<Buffer>
  /** Writes a file; missing folders above it are made. `mode` are its permission bits, default 0o644. */
  write(
    path: string,
    content: string | Uint8Array,
    options?: TransferOptions & { readonly mode?: number },
  ): Promise<void>
  /** Copies a file or folder of the host's to the path `to` in the guest. */
  copyIn(from: string, to: string, options?: TransferOptions): Promise<void>
  /** Copies a file or folder of the guest's to the path `to` on the host. */
  copyOut(from: string, to: string, options?: TransferOptions): Promise<void>
}

/** The files of a box that is asked through `ask`. */
export function guestFiles(
  ask: <T>(call: (machine: Machine) => Promise<T>) => Promise<T>,
  execMs: () => number,
): BoxFiles {
  const limit = ({ timeoutMs }: TransferOptions = {}): number => timeoutMs ?? execMs()
  return {
    read: async (path, transfer) => ask((machine) => machine.readFile(path, limit(transfer))),
    write: async (path, content, transfer) => {
      const bytes = Buffer.from(content as string)
      await ask((machine) => machine.writeFile(path, bytes, transfer?.mode ?? 0o644, limit(transfer)))
    },
    copyIn: async (from, to, transfer) => ask((machine) => machine.copyIn(resolve(from), to, limit(transfer))),
    copyOut: async (from, to, transfer) => ask((machine) => machine.copyOut(from, resolve(to), limit(transfer))),
  }
}
