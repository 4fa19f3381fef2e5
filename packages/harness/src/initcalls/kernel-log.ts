import { existsSync, readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BoxError, type Machine } from '@boxlab/native'
import { initcalls, type InitcallsOptions, type InitcallsResult } from '@boxlab/probes'
import { execCommand } from '../exec.ts'
import type { Bounds } from '../systemd/record-texts.ts'

/** The guest kernel's log in a record, as `dmesg --raw` prints it. */
export const dmesgFile = 'guest/dmesg.txt'

/**
 * What a boot has on its command line so that every call is in the kernel's log and none of it on a console: a byte there is
 * two exits, and each would be in the middle of a call. Only an emergency (KERN_EMERG) is still printed; a panic raises the
 * level by itself and prints the whole log (panic_print of kernel/panic.c, bit 5), so that the last call is known.
 */
export const initcallsCmdline = 'initcall_debug loglevel=1 log_buf_len=8M panic_print=0x20'

/** Puts the kernel's log of a guest that runs into the record, in place of what was there of it. */
export async function recordKernelLog(
  machine: Machine,
  record: string,
  { limitMs, limitBytes }: Bounds,
): Promise<void> {
  const path = join(record, dmesgFile)
  const text =
    (await dmesg(machine, limitMs)) ?? Buffer.concat([textOf(path), await machine.readFile('/proc/kmsg', limitMs)])
  const kept = text.length > limitBytes ? text.subarray(0, text.subarray(0, limitBytes).lastIndexOf(10) + 1) : text
  await writeFile(`${path}.new`, kept)
  await rename(`${path}.new`, path)
}

/**
 * The whole log, which `dmesg` reads without taking it from anybody; undefined in a guest without one. There /proc/kmsg gives
 * each line once, to whoever asks first: nobody else is there to ask.
 */
async function dmesg(machine: Machine, limitMs: number): Promise<Buffer | undefined> {
  try {
    const { stdout, exitCode } = await execCommand(
      machine,
      ['dmesg', '-r'],
      { user: '0' },
      { env: {}, execMs: limitMs },
    )
    return exitCode === 0 ? stdout : undefined
  } catch (error) {
    if (error instanceof BoxError && error.code === 'ERR_BOX_REFUSED') return undefined
    throw error
  }
}

function textOf(path: string): Buffer {
  return existsSync(path) ? readFileSync(path) : Buffer.alloc(0)
}

/** The kernel's log of a record: what was read in the guest, else the console, which a boot that panicked left. */
export function recordedKernelLog(record: string): { readonly name: string; readonly text: Buffer } | undefined {
  const name = [dmesgFile, 'console.bin'].find((one) => existsSync(join(record, one)))
  return name === undefined ? undefined : { name, text: readFileSync(join(record, name)) }
}

/** The kernel's boot, call by call, from a record folder: of a box that lives or of one long gone. */
export function readInitcalls(record: string, options: Omit<InitcallsOptions, 'file'> = {}): InitcallsResult {
  const log = recordedKernelLog(record)
  return initcalls(log?.text ?? '', { ...options, file: log?.name ?? dmesgFile })
}
