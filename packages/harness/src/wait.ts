/** What makes a box ready, or is waited for later. Made by `Wait`. */
export type WaitStrategy =
  | { readonly kind: 'mark'; readonly mark: string }
  | { readonly kind: 'console'; readonly text: string }

/** Wait strategies. Each is event-driven and races with the end of the box. */
export const Wait = {
  /** A mark of the vocabulary, for example `kernel-first-line` or `agent-ready`. */
  forMark: (mark: string): WaitStrategy => ({ kind: 'mark', mark }),
  /** The first appearance of a text on the console. It is looked for in the bytes as they come. */
  forConsole: (text: string): WaitStrategy => ({ kind: 'console', text }),
} as const

/** The mark that a strategy waits for. A console text sets a mark of its own. */
export function markOf(strategy: WaitStrategy): string {
  return strategy.kind === 'mark' ? strategy.mark : `user:console:${strategy.text}`
}
