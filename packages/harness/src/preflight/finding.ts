/** What one look at the host found. */
export interface Finding {
  /** Stable across versions: what scripts ask for. */
  readonly id: string
  readonly title: string
  /** `limited`: it is there, but not for everything. `not-run`: nothing was tested, so nothing is known. */
  readonly outcome: 'ok' | 'limited' | 'failed' | 'not-run'
  /** What it means when it is not `ok`: no box at all, boxes with limits, or nothing for the boxes of this version. */
  readonly level: 'needed' | 'wanted' | 'informational'
  /** One sentence of what was seen. */
  readonly detail: string
  /** What to do about it; absent where there is nothing to do. */
  readonly remedy?: string
  /** What cannot be had because of it, of a `wanted` finding that is not `ok`. */
  readonly limit?: string
  /** The same as data, for programs; what it holds depends on the finding. */
  readonly facts?: Readonly<Record<string, unknown>>
  readonly durationMs: number
}

/** A finding before it knows how long it took. */
export type Seen = Pick<Finding, 'outcome' | 'detail' | 'remedy' | 'limit' | 'facts'>

/** Which finding it is. */
export type About = Pick<Finding, 'id' | 'title' | 'level'>

/** Takes the time of one look. A look that throws is a finding that failed: the doctor itself never does. */
export async function look(about: About, seen: () => Seen | Promise<Seen>): Promise<Finding> {
  const startMs = performance.now()
  let result: Seen
  try {
    result = await seen()
  } catch (error) {
    result = { outcome: 'failed', detail: error instanceof Error ? error.message : String(error) }
  }
  return { ...about, ...result, durationMs: performance.now() - startMs }
}
