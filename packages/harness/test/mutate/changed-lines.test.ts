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
