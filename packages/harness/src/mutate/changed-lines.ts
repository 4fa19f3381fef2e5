/** Lines of a file, from 1, both ends included. */
export interface LineRange {
  readonly file: string
  readonly from: number
  readonly to: number
}

// With a blank in its name a path ends with a tab.
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
    const hunk = HUNK.exec(line)
    if (!hunk) continue
    const [removed, added] = [Number(hunk[1] ?? '1'), Number(hunk[3] ?? '1')]
    const from = Number(hunk[2])
    content = removed + added
    if (file !== undefined && added > 0) ranges.push({ file, from, to: from + added - 1 })
  }
  return ranges
}
