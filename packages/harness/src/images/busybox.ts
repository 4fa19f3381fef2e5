import { readFile } from 'node:fs/promises'
import { runCommand } from './command.ts'
import { bytesDigest } from './digest.ts'
import { isStaticProgram } from './elf.ts'
import { ImageError } from './errors.ts'

/** A busybox that can run in a guest that has nothing else. */
export interface Busybox {
  readonly path: string
  readonly bytes: Buffer
  readonly sha256: string
}

/** A busybox, or the reason in words why there is none. */
export type FoundBusybox = { readonly busybox: Busybox } | { readonly note: string }

const DEFAULT_PATH = '/bin/busybox'
const REMEDY = 'install the package busybox-static'

/**
 * The busybox at `path`; without a path the host's own, where it is the static one. `null` asks for none. A path that
 * was given fails with ERR_IMAGE_BUSYBOX where it does not serve; the host's own missing is only a note.
 */
export async function findBusybox(path: string | null | undefined): Promise<FoundBusybox> {
  if (path === null) return { note: 'no busybox: none was asked for' }
  const place = path ?? DEFAULT_PATH
  let reason: string
  let cause: unknown
  try {
    const bytes = await readFile(place)
    if (isStaticProgram(bytes)) return { busybox: { path: place, bytes, sha256: bytesDigest(bytes) } }
    reason = 'is not a static x86-64 program'
  } catch (error) {
    reason = 'cannot be read'
    cause = error
  }
  if (path === undefined) return { note: `no busybox: ${place} ${reason}; ${REMEDY}` }
  throw new ImageError('ERR_IMAGE_BUSYBOX', `\`busyboxPath\` ${place} ${reason}: ${REMEDY}, or leave it out`, cause)
}

/** Where busybox says its applets belong, such as `usr/bin/env`; sorted, itself left out. Fails with ERR_IMAGE_COMMAND. */
export async function listApplets(busybox: Busybox, signal?: AbortSignal): Promise<string[]> {
  const output = await runCommand(busybox.path, ['--list-full'], { whenMissing: REMEDY, signal })
  const paths = output.toString('utf8').split('\n')
  // `linuxrc` has no folder: it is for an old kind of initial RAM disk.
  return paths.filter((path) => /^(usr\/)?s?bin\/[^/]+$/.test(path) && path !== 'bin/busybox').toSorted()
}
