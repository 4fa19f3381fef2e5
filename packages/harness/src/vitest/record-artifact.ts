import { statSync } from 'node:fs'
import { join } from 'node:path'
import { recordArtifact, type RunnerTestCase, type TestArtifactBase, type TestAttachment } from 'vitest'
import type { BoxError } from '@boxlab/native'
import type { Box } from '../box.ts'

declare const registered: unique symbol

/** The record of a box that was in a failed test, as vitest's reporters get it. */
export interface RecordArtifact extends TestArtifactBase {
  readonly type: 'boxlab:record'
  /** vitest's id of the test. */
  readonly testId: string
  readonly boxId: string
  /** The folder of the record, which stays where it is. */
  readonly record: string
  /** Which attempt at the test it was: both are 0 without `retry` and `repeats`. */
  readonly retryIndex: number
  readonly repeatIndex: number
  /** True where the box may be of another test that ran at the same time. */
  readonly isDoubtful: boolean
  /** Of the test's error, where that tells of this box. */
  readonly code?: string
  readonly likelyCause?: string
}

declare module 'vitest' {
  interface TestArtifactRegistry {
    [registered]: RecordArtifact
  }
}

/** What vitest copies beside its other attachments; a console larger than this stays in the record alone. */
const attachedFiles = ['console.bin', 'boot.json']
const maxAttachedBytes = 16 * 1024 * 1024

/** Tells vitest's reporters that a box was in a test that failed. Not of one without a record that stays. */
export async function recordBox(test: RunnerTestCase, box: Box, isDoubtful = false): Promise<void> {
  const { id, record } = box.info()
  if (record === undefined || box.options.record?.keep === 'never') return
  const errors = (test.result?.errors ?? []) as readonly Partial<BoxError>[]
  const { code, likelyCause } = errors.findLast((error) => error.record === record) ?? {}
  const artifact: RecordArtifact = {
    type: 'boxlab:record',
    testId: test.id,
    boxId: id,
    record,
    retryIndex: test.result?.retryCount ?? 0,
    repeatIndex: test.result?.repeatCount ?? 0,
    isDoubtful,
    ...(code !== undefined && { code }),
    ...(likelyCause !== undefined && { likelyCause }),
    attachments: attachmentsOf(record),
  }
  await recordArtifact(test, artifact)
}

function attachmentsOf(record: string): TestAttachment[] {
  return attachedFiles.flatMap((name) => {
    const path = join(record, name)
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    const contentType = name.endsWith('.json') ? 'application/json' : 'text/plain'
    return size > 0 && size <= maxAttachedBytes ? [{ path, contentType }] : []
  })
}
