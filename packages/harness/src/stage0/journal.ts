import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Machine } from '@boxlab/native'

/** Where the journal of a record is: `journalctl -o export` (systemd.io/JOURNAL_EXPORT_FORMATS). */
export const journalFile = 'guest/journal.export'

/** Longer than any box lives: a command of the guest needs a limit. */
const limitMs = 24 * 3600 * 1000
const againMs = 50
/** What is in a journal comes at once. */
const patienceMs = 1000

/**
 * Follows the guest's journal into the record for as long as the box lives, from the first entry on, whatever comes of the
 * guest. Resolves when the box has ended. A guest without a journal leaves none.
 */
export async function followJournal(machine: Machine, record: string, limitBytes: number): Promise<void> {
  // A first boot has no machine id yet, and without --merge journalctl takes no journal for this machine's then.
  const argv = ['journalctl', '--merge', '--follow', '--lines=all', '--output=export', '--no-pager', '--quiet']
  const file = createWriteStream(join(record, journalFile))
  const bounded = atMost(limitBytes)
  bounded.pipe(file)
  try {
    // journalctl gives up, or waits for ever, where there is no journal yet: it is asked until it has something to tell.
    while (machine.pid !== undefined && file.bytesWritten === 0) {
      const journals = ['/run/log/journal', '/var/log/journal'].map((path) => machine.stat(path, 1000))
      if ((await Promise.allSettled(journals)).some(({ status }) => status === 'fulfilled')) {
        const command = await machine.exec({ argv, timeoutMs: limitMs })
        command.stdin.end()
        command.stderr?.resume()
        command.stdout.pipe(bounded, { end: false })
        const first = once(command.stdout, 'data')
        first.catch(() => {})
        const outcome = await Promise.race([first, command.wait(), sleep(patienceMs)])
        if (outcome === undefined && file.bytesWritten === 0) command.kill()
        else await command.wait()
      }
      await sleep(againMs)
    }
  } catch {
    // The end of the box is the end of its journal; what came by then is in the record.
  } finally {
    bounded.end()
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
