import { BoxError, type MarkLine } from '@boxlab/native'
import { Wait, waitFor } from '../wait/index.ts'

/** When an image's own init is ready: systemd when its boot is over; of any other init it is not known, so at once. */
export async function initReady(context: Parameters<typeof waitFor>[1]): Promise<MarkLine> {
  try {
    return await waitFor(Wait.forSystemd(), context)
  } catch (error) {
    if (!(error instanceof BoxError) || !error.message.startsWith('systemd is not this guest')) throw error
    return waitFor(Wait.forMark('agent-ready'), context)
  }
}
