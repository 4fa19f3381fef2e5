// The reporter makes this a setup file of every project: also suites that import only `@boxlab/harness` are seen then, and
// concurrent tests are told apart. vitest runs it again for each test file.
import { aroundEach } from 'vitest'
import { runAs } from './follow-boxes.ts'

aroundEach(async (runTest, { task }) => {
  await runAs(task, runTest)
})
