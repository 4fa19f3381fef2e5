import { type ByteInput, chunksOf } from '../../input/byte-input.ts'
import { LINE_CAP_BYTES } from '../../input/line-splitter.ts'
import { plainText } from '../../kernel/terminal.ts'

/** Takes one line, as a terminal would show it: no line end, no escape codes. */
export type LineTaker = (line: string, number: number) => void

/** Where lines are counted that cannot be used. */
export interface LineProblems {
  add(name: 'console-line' | 'torn-line' | 'torn-tail' | 'line-too-long', line: number): void
}

// oxlint-disable-next-line no-control-regex
const NEEDS_CLEANING = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/
// A stamp of printk, or the status that PID 1 prints (src/core/manager.c, status_printf): on a console both come
// between what a command prints, also in the middle of a line.
const MESSAGE =
  /(?:<\d{1,3}>)?\[ *\d{1,10}\.\d{6}\]|\[(?: {2}OK {2}|FAILED|DEPEND|ASSERT| TIME | INFO | SKIP |\*{1,3} *| *\*{1,3}) *\] /

/**
 * Hands the usable lines of an input to `take` and the damage to `torn`, in time linear in the text. A message of the
 * console is skipped. A line that one broke in two is lost with its other half, which the next line is: joining them
 * would be a guess.
 */
export function readTextLines(
  input: ByteInput,
  problems: LineProblems,
  take: LineTaker,
  torn: LineTaker,
): { readonly lines: number } {
  const text = textOf(input)
  // One look at the whole: most texts are files, and need no look at each line.
  const dirty = NEEDS_CLEANING.test(text)
  const noisy = dirty || MESSAGE.test(text)
  let number = 0
  let halfLost = false
  for (let from = 0; from < text.length;) {
    const newline = text.indexOf('\n', from)
    const raw = text.slice(from, newline === -1 ? text.length : newline)
    from = newline === -1 ? text.length : newline + 1
    number += 1
    if (raw.length > LINE_CAP_BYTES) {
      problems.add('line-too-long', number)
      torn('', number)
      continue
    }
    const line = dirty && NEEDS_CLEANING.test(raw) ? plainText(raw).replace(/^\r+|\r+$/g, '') : raw
    const at = noisy && line.includes('[') ? line.search(MESSAGE) : -1
    if (at === 0) problems.add('console-line', number)
    else if (halfLost) {
      halfLost = at > 0
      problems.add('torn-line', number)
    } else if (at > 0) {
      halfLost = true
      problems.add('torn-line', number)
      torn(line.slice(0, at), number)
    } else if (newline === -1 && line !== '') {
      problems.add('torn-tail', number)
      torn(line, number)
    } else take(line, number)
  }
  return { lines: number }
}

/** An input as one text. */
export function textOf(input: ByteInput): string {
  if (typeof input === 'string') return input
  const decoder = new TextDecoder()
  let text = ''
  for (const chunk of chunksOf(input))
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
  return text + decoder.decode()
}
