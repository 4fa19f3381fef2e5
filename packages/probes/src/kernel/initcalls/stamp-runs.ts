/** A thread's calls do not nest, so two lines of one stamp are ordinary and four are a clock that stands. */
const STUCK_LINES = 4
/** A clock that stands until the log ends: at least a tick of HZ=100. */
const UNKNOWN_STEP_US = 10_000

/** Watches the stamps of calls for a clock that stands. */
export interface StampRuns {
  take(place: number, atUs: number | undefined): void
  end(): void
}

/**
 * Tells of each call with a line in such a run by how much its stamps may be wrong: whatever happened in the run took as long as
 * the step that ends it, or less.
 */
export function watchStamps(tell: (place: number, errorUs: number) => void): StampRuns {
  let run: { readonly atUs: number; lines: number; readonly places: Set<number> } | undefined

  function close(stepUs: number): void {
    if (run === undefined || run.lines < STUCK_LINES) return
    for (const place of run.places) tell(place, stepUs)
  }

  return {
    take(place, atUs) {
      if (atUs === undefined) return
      if (run?.atUs !== atUs) {
        close(run === undefined ? 0 : Math.abs(atUs - run.atUs))
        run = { atUs, lines: 0, places: new Set() }
      }
      run.lines += 1
      run.places.add(place)
    },
    end() {
      close(UNKNOWN_STEP_US)
    },
  }
}
