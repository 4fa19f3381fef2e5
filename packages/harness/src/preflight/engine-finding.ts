import { findEngine } from '../engine.ts'
import { runCommand } from '../images/command.ts'
import { type Finding, look, type Seen } from './finding.ts'

/** The oldest QEMU whose machines and QMP the runtime speaks. */
export const oldestEngine = '7.2'

const install = 'Install QEMU (Debian: `apt-get install qemu-system-x86`).'

/** Whether there is a QEMU that can run boxes. */
export function engineFinding(given?: string): Promise<Finding> {
  return look({ id: 'engine', title: 'QEMU', level: 'needed' }, () => examineEngine(given))
}

async function examineEngine(given?: string): Promise<Seen> {
  let binary: string
  try {
    binary = findEngine(given)
  } catch {
    const name = given ?? 'qemu-system-x86_64'
    const place = name.includes('/') ? 'is not an executable file' : 'is not on PATH'
    return { outcome: 'failed', detail: `${name} ${place}.`, remedy: install }
  }
  const ask = async (...args: string[]): Promise<string> =>
    (await runCommand(binary, args, { timeoutMs: 5_000, whenMissing: install })).toString('utf8')
  const [version, accelerators] = await Promise.all([ask('--version').then(parseEngineVersion), ask('-accel', 'help')])
  if (version === undefined) {
    return { outcome: 'failed', detail: `${binary} does not tell its version as QEMU does.`, remedy: install }
  }
  if (!isAtLeast(version, oldestEngine)) {
    return {
      outcome: 'failed',
      detail: `${binary} is QEMU ${version}; boxes need ${oldestEngine} or newer.`,
      remedy: install,
    }
  }
  const has = parseAccelerators(accelerators)
  const detail = `QEMU ${version} at ${binary}, with ${has.join(' and ') || 'no accelerators'}.`
  const facts = { binary, version, accelerators: has }
  const missing = ['kvm', 'tcg'].filter((name) => !has.includes(name)).map((name) => name.toUpperCase())
  if (missing.length === 0) return { outcome: 'ok', detail, facts }
  return {
    outcome: missing.length === 2 ? 'failed' : 'limited',
    detail,
    facts,
    limit: `no box runs under ${missing.join(' or ')}: this QEMU is built without it`,
    remedy: 'Install a QEMU that is built with both KVM and TCG.',
  }
}

/** The version in the first line of `qemu-system-x86_64 --version`, "QEMU emulator version 7.2.22 (Debian …)". */
export function parseEngineVersion(output: string): string | undefined {
  return /^QEMU emulator version (\d+\.\d+(?:\.\d+)*)/m.exec(output)?.[1]
}

/** The names in `-accel help`: a heading, then one a line. */
export function parseAccelerators(output: string): string[] {
  return output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^[a-z]+$/.test(line))
    .toSorted()
}

/** Whether a version of numbers and dots is the other one or newer; missing numbers are 0. */
export function isAtLeast(version: string, oldest: string): boolean {
  const [has, needs] = [version, oldest].map((text) => text.split('.').map(Number))
  for (const [index, need] of (needs ?? []).entries()) {
    const part = has?.[index] ?? 0
    if (part !== need) return part > need
  }
  return true
}
