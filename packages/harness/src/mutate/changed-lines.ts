/** Lines of a file, from 1, both ends included. */
export interface LineRange {
  readonly file: string
  readonly from: number
  readonly to: number
}

const FILE = /^\+\+\+ (?:b\/)?(.+?)\t?$/
const HUNK = /^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

/** The lines that a change added or altered, from `git diff --unified=0 --no-color`. A hunk that only takes away has none. */
export function changedLines(diff: string): readonly LineRange[] {
  const ranges: LineRange[] = []
  let file: string | undefined
  // Lines of a hunk are whatever the file has, also what looks like a head.
  let content = 0
  for (const line of diff.split('\n')) {
    if (content > 0) {
      if (!line.startsWith('\\')) content -= 1
      continue
    }
    const named = FILE.exec(line)?.[1]
    if (named !== undefined) file = named === '/dev/null' ? undefined : named
    const [, removed = '1', start, added = '1'] = HUNK.exec(line) ?? []
    if (start === undefined) continue
    content = Number(removed) + Number(added)
    if (file !== undefined && added !== '0')
      ranges.push({ file, from: Number(start), to: Number(start) + Number(added) - 1 })
  }
  return ranges
}
