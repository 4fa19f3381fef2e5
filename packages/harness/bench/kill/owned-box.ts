import { writeFileSync } from 'node:fs'
import type { Box, BoxOptions } from '../../src/index.ts'

/** What an owner of a cell is told. */
export interface OwnedBox {
  readonly options: BoxOptions
  /** The owner's thread blocks when the box has this mark; absent for an idle one. */
  readonly blockAt?: string
}

/** The variable that tells it. */
export const BOX_VARIABLE = 'BOXLAB_KILL_BOX'

/** The file that an owner makes right before its loop. */
export const BLOCKED_VARIABLE = 'BOXLAB_KILL_BLOCKED'

/** Reads it. */
export function ownedBox(): OwnedBox {
  return JSON.parse(process.env[BOX_VARIABLE] ?? '{}') as OwnedBox
}

/** Runs a loop that never ends once the box has the mark. */
export function blockWhen(box: Box, mark: string): void {
  if (box.marks().some((line) => line.mark === mark)) {
    writeFileSync(process.env[BLOCKED_VARIABLE] ?? '', '')
    while (true);
  }
  setImmediate(() => blockWhen(box, mark))
}
