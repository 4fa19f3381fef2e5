import { open } from 'node:fs/promises'
import { agentPath, native } from '@boxlab/native'
import { isStaticProgram } from '../images/elf.ts'
import { type Finding, look } from './finding.ts'

const build = 'Build it with `npm run build` in a checkout of boxlab, or install the package again.'

/** Whether the native runtime loads. */
export function addonFinding(): Promise<Finding> {
  return look({ id: 'addon', title: 'native runtime', level: 'needed' }, () => {
    try {
      const version = native().nativeVersion()
      return { outcome: 'ok', detail: `Version ${version} loads; it needs no compiler here.`, facts: { version } }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      return { outcome: 'failed', detail: `${firstClause(message)}.`, remedy: build }
    }
  })
}

/** Whether the guest's agent is there and runs in a guest that has nothing else. */
export function agentFinding(find: () => string = agentPath): Promise<Finding> {
  return look({ id: 'agent', title: 'guest agent', level: 'needed' }, async () => {
    let path: string
    let start: Buffer
    try {
      path = find()
      start = await readStart(path)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      return { outcome: 'failed', detail: `${firstClause(message)}.`, remedy: build }
    }
    if (!isStaticProgram(start)) {
      const detail = `${path} is not a static x86-64 program, so it cannot be the first process of a guest.`
      return { outcome: 'failed', detail, remedy: build }
    }
    return { outcome: 'ok', detail: `${path} is a static program.`, facts: { path } }
  })
}

/** The remedy has a line of its own here. */
function firstClause(message: string): string {
  const clause = message.split(': build it')[0] ?? message
  return clause.charAt(0).toUpperCase() + clause.slice(1)
}

/** ELF header and program headers: the linker puts them first. */
async function readStart(path: string): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(8192), 0, 8192, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
