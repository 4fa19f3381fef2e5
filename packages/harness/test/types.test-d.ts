import { describe, expectTypeOf, test } from 'vitest'
import {
  type Box,
  bootBox,
  type BoxFixtures,
  type BoxOptions,
  directory,
  type ExecResult,
  tarball,
  useBox,
} from '../src/vitest/index.ts'

describe('the public face', () => {
  test('gives a box in three ways', () => {
    expectTypeOf(useBox).returns.toEqualTypeOf<Box>()
    expectTypeOf(bootBox).returns.resolves.toEqualTypeOf<Box>()
    expectTypeOf<BoxFixtures['box']>().toEqualTypeOf<Box>()
    expectTypeOf<BoxFixtures['boxOptions']>().toEqualTypeOf<BoxOptions>()
  })

  test('knows its options and refuses others', () => {
    expectTypeOf<{ cpus: 2; accel: 'kvm' }>().toExtend<BoxOptions>()
    expectTypeOf<{ accel: 'xen' }>().not.toExtend<BoxOptions>()
    expectTypeOf<{ cpus: '2' }>().not.toExtend<BoxOptions>()
    expectTypeOf<BoxOptions['memoryMib']>().toEqualTypeOf<number | undefined>()
  })

  test('only a folder is shared as it is, and has no room made in it then', () => {
    expectTypeOf<{ format: 'virtiofs' }>().toExtend<Parameters<typeof directory>[1]>()
    expectTypeOf<{ format: 'virtiofs' }>().not.toExtend<Parameters<typeof tarball>[1]>()
    // @ts-expect-error -- nothing is made that could have room
    directory('/', { format: 'virtiofs', freeMib: 1 })
  })

  test('what a boot or a command may not have is absent in the type, not zero', () => {
    expectTypeOf<ExecResult['exitCode']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<ReturnType<Box['metrics']>['totalCreateDurationMs']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<ReturnType<Box['metrics']>['commandsExecutedTotal']>().toEqualTypeOf<number>()
  })
})
