import { type InputLine, splitLines } from '../input/line-splitter.ts'
import { consoleMessages } from '../kernel/console-message.ts'
import { asDisplayText, plainText } from '../kernel/terminal.ts'
import type { BootEvidence } from './evidence.ts'

/** One line that a rule may match. */
export interface SaidLine {
  readonly text: string
  readonly line: number
}

/** Evidence in the form that rules look at. */
export interface ReadEvidence {
  readonly facts: BootEvidence
  /** Lines of the guest's kernel. */
  readonly kernel: readonly SaidLine[]
  /** Every line of the console, the kernel's too, without stamps. */
  readonly console: readonly SaidLine[]
  readonly engine: readonly SaidLine[]
  readonly hostLog: readonly SaidLine[]
}

/** A longer line is cut before rules look at it, so that no rule takes more than linear time. */
const TEXT_CHARS = 1000
// Words of which every rule about the console has at least one: most lines of a console need no closer look.
const HINT =
  /panic|Oops|\[#|requires an |Root |BUG|LOCKUP|fault|ut of memory|\(error -|mount|No init|OS tree|root|initramfs|Initramfs|mergency|escue|ALERT|maintenance|Dropping|does not exist|rdsosreport|No space left|space allocation|error 28|as init process|is blacklisted|virtio port/
// `-msg timestamp=on` of QEMU.
const ENGINE_STAMP = /^\d{4}-\d\d-\d\dT[\d:.]{1,20}Z /

const SLICE = 1 << 16

/** Reads evidence once for all rules. Never throws on foreign text. */
export function readEvidence(facts: BootEvidence): ReadEvidence {
  return {
    facts,
    ...readConsole(facts.console ?? '', facts.consoleLine ?? 1),
    engine: linesOf(facts.engineLog).map(({ text, line }) => ({ text: text.replace(ENGINE_STAMP, ''), line })),
    hostLog: hostMessages(facts.host?.kernelLog),
  }
}

function readConsole(input: Uint8Array | string, firstLine: number): Pick<ReadEvidence, 'kernel' | 'console'> {
  const splitter = splitLines()
  const decoder = new TextDecoder()
  const worth: (SaidLine & { readonly stamped: boolean })[] = []
  let timed = false

  function take({ bytes, number }: InputLine): void {
    // A guest that writes NULs or escape codes for ages gives lines of many MiB.
    const plain = plainText(decoder.decode(bytes.subarray(0, 64 * TEXT_CHARS)))
    for (const { text, stamped } of consoleMessages(plain, number === 1)) {
      timed ||= stamped
      if (HINT.test(text)) worth.push({ text: cut(text), stamped, line: firstLine + number - 1 })
    }
  }

  const bytes = typeof input === 'string' ? new TextEncoder().encode(input) : input
  // In slices, so that a console of 100 MB is never in memory as lines.
  for (let at = 0; at < bytes.length; at += SLICE) splitter.push(bytes.subarray(at, at + SLICE)).forEach(take)
  splitter.end().forEach(take)
  // Without a stamp anywhere (printk.time=0) the kernel's words cannot be told from a program's, except by wording.
  return { kernel: worth.filter(({ stamped }) => stamped || !timed), console: worth }
}

function linesOf(text: string | undefined): SaidLine[] {
  if (text === undefined) return []
  return text.split('\n').map((line, index) => ({ text: cut(asDisplayText(line).trimEnd()), line: index + 1 }))
}

function hostMessages(text: string | undefined): SaidLine[] {
  return linesOf(text).flatMap(({ text: said, line }) =>
    consoleMessages(said, false).map((message) => ({ text: message.text, line })),
  )
}

function cut(text: string): string {
  return text.slice(0, TEXT_CHARS).trimEnd()
}
