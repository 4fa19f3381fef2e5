import type { Asked, LedgerEntry } from '@boxlab/native'
import { expect, test } from 'vitest'
import { describeWait } from '../../src/ledger/describe-wait.ts'

const limits = { maxMemoryMib: 1000, maxBoxes: 2, maxBootingCpus: 2 }
const box = (id: string, label?: string): LedgerEntry => ({
  want: 'box',
  stand: 'running',
  id,
  ...(label !== undefined && { label }),
  memoryMib: 300,
  cpus: 1,
  pid: 42,
})
const alone: LedgerEntry = {
  want: 'exclusive',
  stand: 'running',
  id: 'alone-7',
  label: 'lane',
  memoryMib: 0,
  cpus: 0,
  pid: 7,
}

test.for<[Asked, string]>([
  [
    { why: 'memory', holders: [box('b1'), box('b2', 'suite > boots')], ahead: [] },
    'me waits for memory (600 of 1000 MiB are held by b1 (300 MiB, process 42), suite > boots (300 MiB, process 42))',
  ],
  [
    { why: 'boxes', holders: [box('b1')], ahead: [box('b2')] },
    'me waits for a place among 2, held by b1 (300 MiB, process 42); 1 other came first',
  ],
  [
    { why: 'cpus', holders: ['1', '2', '3', '4', '5'].map((id) => box(id)), ahead: [box('6'), box('7')] },
    'me waits for a CPU to boot on, used by 1 (300 MiB, process 42), 2 (300 MiB, process 42), 3 (300 MiB, process 42) and 2 more; 2 others came first',
  ],
  [{ why: 'exclusive', holders: [alone], ahead: [] }, 'me waits until the host is free: lane (process 7) has it alone'],
  [
    { why: 'others', holders: [box('b1')], ahead: [] },
    'me waits to have the host alone, while 1 box run: b1 (300 MiB, process 42)',
  ],
  [{ why: 'queue', holders: [], ahead: [box('b1')] }, 'me waits behind b1 (300 MiB, process 42); 1 other came first'],
])('who waits is told for whom: %#', ([asked, sentence]) => {
  expect(describeWait('me', asked, limits)).toBe(sentence)
})
