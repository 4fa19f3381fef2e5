import type { Box } from '../box.ts'

/** Keeps a box until a signal arrives or it ends by itself, and says which it was. */
export async function holdBox(
  box: Box,
  arrived: Promise<NodeJS.Signals>,
  out: NodeJS.WritableStream,
): Promise<'asked' | 'by-itself'> {
  out.write(`box ${box.id} runs (pid ${box.machine.pid ?? 'unknown'}); Ctrl-C stops it, twice kills it\n`)
  const end = await Promise.race([arrived, box.machine.waitExit()])
  if (typeof end !== 'string') {
    out.write(
      `box ${box.id} ended by itself (${end.signal === undefined ? `exit code ${end.code}` : `signal ${end.signal}`})\n`,
    )
    return 'by-itself'
  }
  out.write(`\nstopping box ${box.id} …\n`)
  const { by } = await box.stop()
  out.write(`stopped (${wordings[by]})\n`)
  return 'asked'
}

const wordings = {
  none: 'it had ended before',
  agent: 'its agent powered it off',
  acpi: 'it followed its power button',
  quit: 'QEMU quit when asked',
  kill: 'killed',
} as const
