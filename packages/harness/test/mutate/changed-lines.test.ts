import { expect, test } from 'vitest'
import { changedLines } from '../../src/mutate/changed-lines.ts'

test('each hunk is the lines that it added', () => {
  const diff = `diff --git a/src/a.ts b/src/a.ts
index 1..2 100644
--- a/src/a.ts
+++ b/src/a.ts
@@ -3 +3 @@ function one() {
-old
+new
@@ -10,2 +10,3 @@
-x
-y
+1
+2
+3
@@ -20,2 +21,0 @@
-gone
-gone
diff --git a/src/new file.ts b/src/new file.ts
new file mode 100644
--- /dev/null
+++ b/src/new file.ts\t
@@ -0,0 +1,2 @@
+a
+b
\\ No newline at end of file
`
  expect(changedLines(diff)).toEqual([
    { file: 'src/a.ts', from: 3, to: 3 },
    { file: 'src/a.ts', from: 10, to: 12 },
    { file: 'src/new file.ts', from: 1, to: 2 },
  ])
})

test('a file that is gone has none', () => {
  expect(changedLines('--- a/x.ts\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n')).toEqual([])
})

test('lines that look like heads are content', () => {
  const diff =
    '--- a/x.ts\n+++ b/x.ts\n@@ -1 +1,2 @@\n--- a/other.ts\n+++ b/other.ts\n+@@ -9 +9 @@\n@@ -5,0 +7 @@\n+z\n'
  expect(changedLines(diff)).toEqual([
    { file: 'x.ts', from: 1, to: 2 },
    { file: 'x.ts', from: 7, to: 7 },
  ])
})

test('an empty diff has none', () => {
  expect(changedLines('')).toEqual([])
})

test('a missing line end at the end of a hunk is no line of it', () => {
  const diff = '--- a/x.ts\n+++ b/x.ts\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\\\n@@ -9 +9,12 @@\n-a\n'
  expect(changedLines(diff)).toEqual([
    { file: 'x.ts', from: 1, to: 1 },
    { file: 'x.ts', from: 9, to: 20 },
  ])
})

test('an added line that looks like the head of a file is none, also behind a missing line end', () => {
  const diff =
    '--- a/x.ts\n+++ b/x.ts\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+++ b/y.ts\n@@ -9 +9 @@\n-a\\\n+b\n'
  expect(changedLines(diff).map(({ file }) => file)).toEqual(['x.ts', 'x.ts'])
})

test('a hunk that took ten lines away is as long', () => {
  const gone = '-x\n'.repeat(12)
  expect(changedLines(`--- a/x.ts\n+++ x.ts\n@@ -1,12 +1 @@\n${gone}+b\n@@ -30 +19 @@\n-a\n+b\n`)).toEqual([
    { file: 'x.ts', from: 1, to: 1 },
    { file: 'x.ts', from: 19, to: 19 },
  ])
})

test('a hunk without a file, behind one that is gone, or in the middle of a line, is none', () => {
  expect(changedLines('@@ -1 +1 @@\n-a\n+b\n')).toEqual([])
  expect(changedLines('+++ b/x.ts\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n')).toEqual([])
  expect(changedLines('+++ b/x.ts\nfoo @@ -1 +1 @@\n')).toEqual([])
  expect(changedLines('+++ b/x.ts\nfoo +++ b/y.ts\n@@ -1 +1 @@\n-a\n+b\n')).toEqual([{ file: 'x.ts', from: 1, to: 1 }])
})
