import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { engineFinding, isAtLeast, parseAccelerators, parseEngineVersion } from '../../src/preflight/engine-finding.ts'
import { look } from '../../src/preflight/finding.ts'
import { kernelFinding } from '../../src/preflight/guest-findings.ts'
import { cpusFinding, memoryFinding, platformFinding, stateFinding } from '../../src/preflight/host-findings.ts'
import { agentFinding } from '../../src/preflight/native-findings.ts'
import { temporaryFolder } from '../images/temporary-folder.ts'

/** A program that prints what a QEMU would. */
async function printingEngine(version: string, accelerators: string): Promise<string> {
  const path = join(await temporaryFolder(), 'qemu')
  const help = `Accelerators supported in QEMU binary:\\n${accelerators}\\n`
  await writeFile(path, `#!/bin/sh\ncase $1 in --version) echo '${version}';; *) printf '${help}';; esac\n`)
  await chmod(path, 0o755)
  return path
}

describe('the engine', () => {
  test('of this host is found with its version and accelerators', async () => {
    expect(await engineFinding()).toMatchObject({
      outcome: 'ok',
      facts: { version: expect.stringMatching(/^\d+\.\d+/), accelerators: ['kvm', 'tcg'] },
    })
  })

  test.for([
    ['QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)', '7.2.22'],
    ['QEMU emulator version 10.0.2\nCopyright (c) …', '10.0.2'],
    ['some other program', undefined],
  ] as const)('%s is version %s', ([output, version]) => {
    expect(parseEngineVersion(output)).toBe(version)
  })

  test('versions are compared by numbers, not by letters', () => {
    expect(['7.2', '7.2.0', '7.10', '8.0', '10.0.2'].filter((version) => !isAtLeast(version, '7.2'))).toEqual([])
    expect(['7.1.9', '6.2', '7'].filter((version) => isAtLeast(version, '7.2'))).toEqual([])
  })

  test('accelerators are read from the help', () => {
    expect(parseAccelerators('Accelerators supported in QEMU binary:\ntcg\nkvm\n')).toEqual(['kvm', 'tcg'])
  })

  test('that is missing, too old or no QEMU cannot be used', async () => {
    const version = (text: string): Promise<string> => printingEngine(text, 'tcg\\nkvm')
    expect(await engineFinding('/nonexistent/qemu')).toMatchObject({
      outcome: 'failed',
      remedy: expect.stringMatching(/apt-get install/),
    })
    expect(await engineFinding(await version('QEMU emulator version 6.2.0'))).toMatchObject({
      outcome: 'failed',
      detail: expect.stringMatching(/is QEMU 6\.2\.0; boxes need 7\.2/),
    })
    expect(await engineFinding(await version('hello'))).toMatchObject({ outcome: 'failed' })
    expect(await engineFinding('/bin/false')).toMatchObject({
      outcome: 'failed',
      detail: expect.stringMatching(/failed/),
    })
  })

  test('without an accelerator is limited and says which boxes it cannot run', async () => {
    expect(await engineFinding(await printingEngine('QEMU emulator version 9.1.0', 'kvm'))).toMatchObject({
      outcome: 'limited',
      limit: expect.stringMatching(/under TCG/),
    })
  })
})

describe('the agent', () => {
  test('that is missing says what was tried', async () => {
    const find = (): string => {
      throw new Error('the agent is not there (tried /x): build it with `npm run build`')
    }
    expect(await agentFinding(find)).toMatchObject({
      outcome: 'failed',
      detail: 'The agent is not there (tried /x).',
      remedy: expect.stringMatching(/npm run build/),
    })
  })

  test('that needs a dynamic loader cannot be the first process', async () => {
    expect(await agentFinding(() => '/bin/sh')).toMatchObject({
      outcome: 'failed',
      detail: expect.stringMatching(/static/),
    })
    expect(await agentFinding(() => '/etc/passwd')).toMatchObject({ outcome: 'failed' })
  })
})

describe('the host', () => {
  test('has room for boxes, for one, or for none', async () => {
    const mib = (count: number): number => count * 1024 * 1024
    expect(await memoryFinding(mib(4096))).toMatchObject({ outcome: 'ok' })
    expect(await memoryFinding(mib(800))).toMatchObject({
      outcome: 'limited',
      limit: expect.stringMatching(/only one box/),
    })
    expect(await memoryFinding(mib(300))).toMatchObject({
      outcome: 'failed',
      limit: expect.stringMatching(/does not fit/),
    })
  })

  test('with one CPU disturbs its own measurements', async () => {
    expect(await cpusFinding(1)).toMatchObject({ outcome: 'limited', limit: expect.stringMatching(/noisy/) })
    expect(await cpusFinding(2)).toMatchObject({ outcome: 'ok' })
  })

  test('must be Linux on x86-64', async () => {
    expect(await platformFinding('linux', 'arm64')).toMatchObject({ outcome: 'failed', level: 'needed' })
    expect(await platformFinding('darwin', 'x64')).toMatchObject({ outcome: 'failed' })
    expect(await platformFinding('linux', 'x64')).toMatchObject({ outcome: 'ok' })
  })

  test('keeps state in a folder that can be made', async () => {
    const root = await temporaryFolder()
    expect(await stateFinding(join(root, 'not', 'yet'))).toMatchObject({ outcome: 'ok' })
    expect(await stateFinding('/proc/boxlab')).toMatchObject({
      outcome: 'failed',
      remedy: expect.stringMatching(/BOXLAB_HOME/),
    })
  })

  test('fetches the default kernel where apt is, and says so where it is not', async () => {
    const root = await temporaryFolder()
    expect(await kernelFinding(root, { PATH: root })).toMatchObject({
      outcome: 'failed',
      detail: expect.stringMatching(/apt-get, which fetches it, is not here/),
    })
  })
})

test('a look that throws is a finding that failed', async () => {
  const about = { id: 'x', title: 'x', level: 'wanted' } as const
  expect(await look(about, () => Promise.reject(new Error('It broke.')))).toMatchObject({
    outcome: 'failed',
    detail: 'It broke.',
  })
})
