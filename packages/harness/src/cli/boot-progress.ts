import { setTimeout as sleep } from 'node:timers/promises'
import type { MarkLine } from '@boxlab/native'
import { renderStageTable } from '@boxlab/probes'
import type { Box } from '../box.ts'
import { readTimeline } from '../reports/record-timeline.ts'
import { liveRegion } from './live-region.ts'
import { terminalOf } from './terminal.ts'

/** Shows a boot while it happens. */
export interface BootProgress {
  /** Begins to follow a box. */
  follow(box: Box): void
  /** Ends it: a drawn table is taken away, since the final one follows. Marks that were not shown yet are. */
  end(): Promise<void>
}

// The console is stamped in a thread of its own, so that looking on costs the boot nothing but this little work.
const tickMs = 200

/** A table that is drawn again as marks come on a terminal, one line a mark elsewhere. */
export function bootProgress(stream: NodeJS.WriteStream): BootProgress {
  return terminalOf(stream).live ? followMarks(tableView(stream)) : followMarks(lineView(stream))
}

/** Shows nothing. */
export const noProgress: BootProgress = { follow: () => {}, end: async () => {} }

interface View {
  /** New marks, or none when only time has passed. */
  show(box: Box, fresh: readonly MarkLine[]): void
  end(): void
}

function followMarks(view: View): BootProgress {
  let ended = false
  let following: Promise<void> | undefined

  async function run(box: Box): Promise<void> {
    let seen = 0
    for (;;) {
      // Looked at before the marks: the round after the end shows the last of them.
      const last = ended
      const fresh = box.marks().slice(seen)
      seen += fresh.length
      view.show(box, fresh)
      if (last) return
      // The machine is made when the boot has its turn.
      await (seen === 0 ? sleep(5) : box.machine.waitBeyond(seen, tickMs))
    }
  }

  return {
    follow(box) {
      following = run(box)
    },
    async end() {
      ended = true
      await following
      view.end()
    },
  }
}

function tableView(stream: NodeJS.WriteStream): View {
  const region = liveRegion(stream)
  const startMs = performance.now()
  return {
    show(box) {
      const seconds = ((performance.now() - startMs) / 1000).toFixed(1)
      if (box.marks().length === 0) return
      region.draw(`${renderStageTable(readTimeline(box.record), terminalOf(stream))}booting for ${seconds} s`)
    },
    end: () => region.clear(),
  }
}

function lineView(stream: NodeJS.WriteStream): View {
  let startNs: number | undefined
  return {
    show(_, fresh) {
      for (const { mark, source, clock, atNs } of fresh) {
        // A guest's stamp has no place on this axis before the clocks are compared; the table has it.
        if (clock !== 'host') continue
        startNs ??= atNs
        stream.write(`${mark.padEnd(18)} ${`+${((atNs - startNs) / 1e6).toFixed(1)}`.padStart(9)} ms  ${source}\n`)
      }
    },
    end: () => {},
  }
}
