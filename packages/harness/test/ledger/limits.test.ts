import { availableParallelism, totalmem } from 'node:os'
import { afterEach, describe, expect, test } from 'vitest'
import { hostLimits, limitHost } from '../../src/ledger/limits.ts'

afterEach(() => limitHost({}))

describe('what all boxes of the host may have', () => {
  test('is a part of its memory and one boot a CPU, when nothing is said', () => {
    const limits = hostLimits({})
    expect(limits).toEqual({ maxMemoryMib: expect.any(Number) as number, maxBootingCpus: availableParallelism() })
    expect(limits.maxMemoryMib).toBeGreaterThan(0)
    expect(limits.maxMemoryMib).toBeLessThan(totalmem() / 1024 ** 2)
  })

  test('is what the environment says, and this process can say otherwise', () => {
    const environment = { BOXLAB_MAX_MEMORY_MIB: '2048', BOXLAB_MAX_BOXES: '3' }
    expect(hostLimits(environment)).toMatchObject({ maxMemoryMib: 2048, maxBoxes: 3 })
    limitHost({ maxBoxes: 1 })
    expect(hostLimits(environment)).toMatchObject({ maxMemoryMib: 2048, maxBoxes: 1 })
    limitHost({ maxMemoryMib: 512 })
    expect(hostLimits(environment)).toMatchObject({ maxMemoryMib: 512, maxBoxes: 3 })
    expect(hostLimits({ BOXLAB_MAX_BOXES: '' })).not.toHaveProperty('maxBoxes')
  })

  test('that is no number is refused by its name', () => {
    expect(() => hostLimits({ BOXLAB_MAX_MEMORY_MIB: '2G' })).toThrow(
      'the environment variable BOXLAB_MAX_MEMORY_MIB must be a whole number of 1 or more, not "2G"',
    )
    expect(() => hostLimits({ BOXLAB_MAX_BOXES: '0' })).toThrow('BOXLAB_MAX_BOXES')
    expect(() => limitHost({ maxBoxes: 1.5 })).toThrow('`maxBoxes` must be a whole number of 1 or more, not 1.5')
  })
})
