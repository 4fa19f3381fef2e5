import { describe, expect, test } from 'vitest'
import { readCargoLog } from '../results/cargo.ts'

const good = `   Compiling demo v0.1.0 (/checkout)
    Finished \`test\` profile [unoptimized + debuginfo] target(s) in 0.21s
     Running unittests src/lib.rs (target/debug/deps/demo-0123456789abcdef)

running 3 tests
test ledger::sweeps ... ok
test ledger::needs_kvm ... ignored, needs /dev/kvm
test stops - should panic ... ok

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/boot.rs (target/debug/deps/boot-fedcba9876543210)

running 1 test
test boots ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s

   Doc-tests demo

running 1 test
test src/lib.rs - frame (line 3) ... ignored

test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
`

const failing = `     Running unittests src/lib.rs (target/debug/deps/demo-0123456789abcdef)

running 2 tests
test a ... ok
test b ... FAILED

failures:

---- b stdout ----
thread 'b' panicked at src/lib.rs:9:5:
running 3 of 5

failures:
    b

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass \`--lib\`
`

const crashing = `     Running unittests src/lib.rs (target/debug/deps/demo-0123456789abcdef)

running 2 tests
test a ... ok
error: test failed, to rerun pass \`--lib\`

Caused by:
  process didn't exit successfully: \`/checkout/target/debug/deps/demo-0123456789abcdef\` (signal: 6, SIGABRT: process abort signal)
     Running tests/boot.rs (target/debug/deps/boot-fedcba9876543210)

running 1 test
test boots ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
`

describe('the output of cargo test', () => {
  test('is added up over its binaries, and a skip is named with its binary', () => {
    expect(readCargoLog(good, 0)).toEqual({
      runner: 'cargo test',
      passed: 3,
      failures: [],
      skips: ['demo > ledger::needs_kvm', 'doc-tests demo > src/lib.rs - frame (line 3)'],
    })
  })

  test('is read through colours and Windows line ends', () => {
    const coloured = good
      .replaceAll('... ok', '... \u{1b}[32mok\u{1b}[0m')
      .replaceAll('     Running', '\u{1b}[1m\u{1b}[32m     Running\u{1b}[0m')
      .replaceAll('\n', '\r\n')
    expect(readCargoLog(coloured, 0)).toEqual(readCargoLog(good, 0))
  })

  test('names a failed test', () => {
    expect(readCargoLog(failing, 101)).toMatchObject({ passed: 1, failures: ['demo > b'] })
  })

  test('counts a failure whose line could not be read', () => {
    const garbled = failing.replace('test b ... FAILED', 'test b ... noise of a child FAILED')
    expect(readCargoLog(garbled, 101)).toMatchObject({
      passed: 1,
      failures: [expect.stringContaining('could not be read')],
    })
  })

  test('counts an ignored test whose line could not be read as a skip that no list can name', () => {
    const garbled = good.replace('test ledger::needs_kvm', 'noise of a child test ledger::needs_kvm')
    expect(readCargoLog(garbled, 0).skips).toContain('an ignored test whose name could not be read')
  })

  test('counts a binary that crashed as a failure, and still the ones after it', () => {
    expect(readCargoLog(crashing, 101)).toMatchObject({
      passed: 1,
      failures: ['demo (cargo test) ended without a result: it crashed or was ended'],
    })
  })

  test('is a failure when it was cut in the middle', () => {
    expect(readCargoLog(good.slice(0, good.indexOf('test boots')), 124).failures).toEqual([
      'boot (cargo test) ended without a result: it crashed or was ended',
    ])
  })

  test('is a failure when the tests did not compile', () => {
    expect(readCargoLog('error[E0425]: cannot find value `x` in this scope\n', 101).failures).toEqual([
      expect.stringContaining('ended with code 101'),
    ])
  })

  test('is a failure when nothing was run', () => {
    expect(readCargoLog(undefined, undefined).failures).toEqual(['cargo test was not run'])
    expect(readCargoLog('', 0).failures).toEqual(['cargo test ran and passed no test at all'])
  })
})
