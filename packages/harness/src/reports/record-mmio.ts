import { existsSync, readFileSync, statSync } from 'node:fs'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Machine } from '@boxlab/native'
import { mmioFrom, type MmioOptions, type MmioResult } from '@boxlab/probes'

/** QEMU's trace and the machine's memory map, in a record. */
export const traceFiles = {
  trace: 'trace/qemu.log',
  mtree: 'trace/mtree.txt',
  pci: 'trace/query-pci.json',
} as const

/** Puts the memory map of a machine that runs beside its trace: what the regions and functions are whose names are in it. */
export async function recordMemoryMap(machine: Machine, record: string): Promise<void> {
  const { mtree, pci } = await machine.memoryMap()
  await writeFile(join(record, traceFiles.mtree), mtree)
  if (pci !== 'null') await writeFile(join(record, traceFiles.pci), `${pci}\n`)
}

/** Larger pieces are not faster; smaller ones cost a turn of the event loop each. */
const CHUNK_BYTES = 1024 * 1024

/**
 * Whose the accesses of traces are, one after another, such as the files of threads that `-d trace:…,tid` writes. A folder is a
 * record: its trace, with the memory map beside it. Rejects with the system's error for a file that cannot be read.
 */
export async function readMmio(paths: readonly string[], options: MmioOptions = {}): Promise<MmioResult> {
  const folders = paths.filter((path) => statSync(path).isDirectory())
  const files = paths.map((path) => (folders.includes(path) ? join(path, traceFiles.trace) : path))
  const maps = folders
    .flatMap((folder) => [join(folder, traceFiles.mtree), join(folder, traceFiles.pci)])
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, 'utf8'))
  return mmioFrom(chunksOf(files), {
    file: files.length === 1 ? files[0]! : 'trace',
    ...options,
    map: [...maps, ...(options.map ?? [])],
  })
}

const LINE_FEED = 10

/** The bytes of files. Each chunk is only lent: a stream would leave a megabyte of garbage behind with each of its own. */
async function* chunksOf(files: readonly string[]): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(CHUNK_BYTES)
  for (const [index, file] of files.entries()) {
    let last: number | undefined
    const handle = await open(file)
    try {
      for (;;) {
        const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, null)
        if (bytesRead === 0) break
        last = buffer[bytesRead - 1]
        yield buffer.subarray(0, bytesRead)
      }
    } finally {
      await handle.close()
    }
    // A file that was cut must not run into the next one.
    if (index < files.length - 1 && last !== undefined && last !== LINE_FEED) yield Uint8Array.of(LINE_FEED)
  }
}
