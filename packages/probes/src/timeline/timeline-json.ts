import type { Timeline } from './timeline.ts'

/** A timeline as it is stored: the same data with the name and version of its format. */
export interface TimelineJson extends Timeline {
  readonly format: 'boxlab-timeline'
  readonly version: 1
}

/** The timeline as plain data for `JSON.stringify`. Absent values are left out, never null or 0. */
export function timelineJson(timeline: Timeline): TimelineJson {
  return { format: 'boxlab-timeline', version: 1, ...timeline }
}
