import type { RecorderEvent } from './recorder-line.ts'

/** What came over one connection to PID 1, in the order of the stream. */
export interface Connection {
  readonly file: string
  readonly line: number
  /** When it was made; absent where the recording has no header. */
  readonly connectedUs?: number
  readonly events: readonly RecorderEvent[]
}

/** Cuts one recording into its connections. */
export function cutConnections(
  file: string,
  events: readonly { readonly event: RecorderEvent; readonly line: number }[],
  noHeader: (line: number) => void,
): readonly Connection[] {
  const connections: (Connection & { readonly events: RecorderEvent[] })[] = []
  for (const { event, line } of events) {
    if (event.kind === 'connected') {
      connections.push({ file, line, connectedUs: event.atUs, events: [event] })
      continue
    }
    const open = connections.at(-1)
    if (open !== undefined) open.events.push(event)
    else {
      noHeader(line)
      connections.push({ file, line, events: [event] })
    }
  }
  return connections
}

/** All connections of a boot in the order of time, whatever order the inputs came in; each once, the longest. */
export function orderConnections(
  all: readonly Connection[],
  twice: (connection: Connection) => void,
): readonly Connection[] {
  const sorted = all.toSorted(
    (a, b) => startOf(a) - startOf(b) || b.events.length - a.events.length || (a.file < b.file ? -1 : 1),
  )
  return sorted.filter((connection, index) => {
    const before = sorted[index - 1]
    const isTwice = before?.connectedUs !== undefined && before.connectedUs === connection.connectedUs
    if (isTwice) twice(connection)
    return !isTwice
  })
}

function startOf({ connectedUs, events }: Connection): number {
  return connectedUs ?? events[0]?.atUs ?? 0
}
