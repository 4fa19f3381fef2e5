import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BootedBy } from '../booted-by.ts'
import type { Owner } from '../owner.ts'

/** The process that a record names as the owner of its box. Older records name neither boot nor pid namespace. */
export type RecordedOwner = Partial<Owner> & Pick<Owner, 'pid'>

/** What `boot.json` (docs/record.md) says that matters for its box's life. */
export interface BootFile {
  /** The whole file, to write it again with an end. */
  readonly json: Readonly<Record<string, unknown>>
  readonly boxId?: string
  readonly name?: string
  readonly outcome: string
  readonly startedAt?: string
  readonly owner?: RecordedOwner
  /** When its record stays. Older records do not say. */
  readonly keep?: string
  /** The test that asked for the box. */
  readonly bootedBy?: BootedBy
  /** The engine's command line without the program; absent until it was decided. */
  readonly argv?: readonly string[]
}

/** Reads `boot.json`: absent when it is not there, a sentence when it is nothing that can be judged. */
export function readBootFile(record: string): BootFile | 'absent' | { readonly problem: string } {
  let text: string
  try {
    text = readFileSync(join(record, 'boot.json'), 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? 'absent' : { problem: `its boot.json cannot be read (${code})` }
  }
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return { problem: 'its boot.json is not JSON' }
  }
  if (!isObject(json) || typeof json['outcome'] !== 'string') return { problem: 'its boot.json tells no outcome' }
  if (json['version'] !== 1) return { problem: `its boot.json has version ${String(json['version'])}, not 1` }
  return bootFileOf(json, json['outcome'])
}

function bootFileOf(json: Record<string, unknown>, outcome: string): BootFile {
  const { boxId, name, startedAt, engine, keep, bootedBy } = json
  const owner = ownerOf(json['owner'])
  const argv = isObject(engine) ? engine['argv'] : undefined
  return {
    json,
    outcome,
    ...(typeof boxId === 'string' && { boxId }),
    ...(typeof name === 'string' && { name }),
    ...(typeof startedAt === 'string' && { startedAt }),
    ...(owner && { owner }),
    ...(typeof keep === 'string' && { keep }),
    ...(isBootedBy(bootedBy) && { bootedBy }),
    ...(Array.isArray(argv) && { argv: argv.map(String) }),
  }
}

function ownerOf(value: unknown): RecordedOwner | undefined {
  if (!isObject(value)) return undefined
  const { pid, startTicks, pidNamespace, bootId } = value
  if (!Number.isInteger(pid) || Number(pid) < 1) return undefined
  return {
    pid: Number(pid),
    ...(isWord(startTicks) && { startTicks: String(startTicks) }),
    ...(isWord(pidNamespace) && { pidNamespace: String(pidNamespace) }),
    ...(isWord(bootId) && { boot: String(bootId).slice(0, 8) }),
  }
}

function isBootedBy(value: unknown): value is BootedBy {
  return isObject(value) && typeof value['file'] === 'string' && ['string', 'undefined'].includes(typeof value['test'])
}

function isWord(value: unknown): value is string | number {
  return typeof value === 'string' ? value !== '' : Number.isSafeInteger(value)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
