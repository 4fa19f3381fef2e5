declare module 'vitest' {
  interface TaskMeta {
    /** The ids of the boxes that a test of these projects had. */
    boxes?: string[]
  }
}

/** What such a test tells through the JSON report. */
export type { TaskMeta } from 'vitest'
