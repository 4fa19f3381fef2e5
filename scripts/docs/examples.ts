/** A code block that says which file it shows. */
export interface MarkedBlock {
  /** Line of the comment in the document, from 1. */
  readonly line: number
  /** Path from the root of the checkout. */
  readonly path: string
  readonly region?: string
  /** Undefined where no code block follows the comment. */
  readonly text: string | undefined
}

const MARK = /^\s*<!--\s*from:\s*(\S+?)(?:#(\S+))?\s*-->\s*$/
const FENCE = /^(\s*)(`{3,}|~{3,})/

/** Finds the comments `<!-- from: path -->` and `<!-- from: path#region -->` and the fenced block right after each. */
export function markedBlocks(markdown: string): MarkedBlock[] {
  const lines = markdown.split(/\r?\n/)
  const blocks: MarkedBlock[] = []
  // The end of the fence we are in: a mark inside a code block is an example of a mark.
  let closing: RegExp | undefined
  for (const [index, line] of lines.entries()) {
    if (closing) {
      if (closing.test(line)) closing = undefined
      continue
    }
    const fence = FENCE.exec(line)
    if (fence) closing = closingFence(fence)
    const mark = MARK.exec(line)
    if (!mark?.[1]) continue
    blocks.push({
      line: index + 1,
      path: mark[1],
      ...(mark[2] === undefined ? {} : { region: mark[2] }),
      text: blockAfter(lines, index + 1),
    })
  }
  return blocks
}

/**
 * The lines of a source between `#region NAME` and `#endregion` (in a comment of any language), moved to the left
 * edge; marks of other regions in it are left out. Undefined where there is no such region or it never ends.
 */
export function regionOf(source: string, name: string): string | undefined {
  const inside: string[] = []
  let depth = 0
  for (const line of source.split(/\r?\n/)) {
    const start = /#region\s+(\S+)/.exec(line)
    if (start) {
      if (depth > 0 || start[1] === name) depth += 1
    } else if (/#endregion\b/.test(line)) {
      if (depth === 1) return dedent(inside)
      if (depth > 0) depth -= 1
    } else if (depth > 0) inside.push(line)
  }
  return undefined
}

/** What is wrong with one block, as the end of a sentence; undefined where it shows its source. */
export function blockFault(block: MarkedBlock, source: string | undefined): string | undefined {
  const name = block.region === undefined ? block.path : `${block.path}#${block.region}`
  if (block.text === undefined) return `says "from: ${name}" and no code block follows it`
  if (source === undefined) return `shows ${block.path}, which is not there`
  const shown = block.region === undefined ? source : regionOf(source, block.region)
  if (shown === undefined) return `shows ${name}, and that file has no region of this name`
  const want = trimEnds(shown).split('\n')
  const have = trimEnds(block.text).split('\n')
  const at = want.findIndex((line, index) => line !== have[index])
  if (at === -1 && want.length === have.length) return undefined
  const line = at === -1 ? want.length : at
  return `differs from ${name} in line ${line + 1} of the block: it has ${quote(have[line])}, the file ${quote(want[line])}`
}

function quote(line: string | undefined): string {
  return line === undefined ? 'no such line' : JSON.stringify(line)
}

function closingFence(fence: RegExpExecArray): RegExp {
  const ticks = fence[2] ?? '```'
  return new RegExp(`^\\s*[${ticks[0]}]{${ticks.length},}\\s*$`)
}

function blockAfter(lines: readonly string[], from: number): string | undefined {
  let start = from
  while (lines[start]?.trim() === '') start += 1
  const fence = FENCE.exec(lines[start] ?? '')
  if (!fence) return undefined
  const closing = closingFence(fence)
  const length = lines.slice(start + 1).findIndex((line) => closing.test(line))
  return length === -1 ? undefined : dedent(lines.slice(start + 1, start + 1 + length))
}

function dedent(lines: readonly string[]): string {
  const indents = lines.filter((line) => line.trim() !== '').map((line) => line.length - line.trimStart().length)
  const indent = indents.length === 0 ? 0 : Math.min(...indents)
  return lines.map((line) => line.slice(indent)).join('\n')
}

function trimEnds(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(/^\n+/, '').trimEnd()
}
