import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Machine } from '@boxlab/native'

/** Where the journal of a record is: `journalctl -o export` (systemd.io/JOURNAL_EXPORT_FORMATS). */
export const journalFile = 'guest/journal.export'

/** Longer than any box lives: a command of the guest needs a limit. */
const limitMs = 24 * 3600 * 1000
const againMs = 50

/**
 * Follows the guest's journal into the record for as long as the box lives, from the first entry on, whatever comes of the
 * guest. Resolves when the box has ended. A guest without a journal leaves none.
 */
export async function followJournal(machine: Machine, record: string, limitBytes: number): Promise<void> {
  const argv = ['journalctl', '--follow', '--lines=all', '--output=export', '--no-pager', '--quiet']
  try {
    for (;;) {
      // Before journald has its folder there is nothing to follow, and journalctl would only wait for another one.
      const begun = await machine.stat('/run/log/journal', 1000).catch(() => undefined)
      if (begun ?? (await machine.stat('/var/log/journal', 1000).catch(() => undefined))) break
      if (machine.pid === undefined) return
      await sleep(againMs)
    }
    const command = await machine.exec({ argv, timeoutMs: limitMs })
    command.stdin.end()
    command.stderr?.resume()
    await pipeline(command.stdout, atMost(limitBytes), createWriteStream(join(record, journalFile)))
  } catch {
    // The end of the box is the end of its journal; what came by then is in the record.
  }
}

/** Lets so many bytes through and takes the rest away. */
function atMost(limitBytes: number): Transform {
  let left = limitBytes
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const kept = chunk.subarray(0, left)
      left -= kept.length
      done(null, kept)
    },
  })
}
