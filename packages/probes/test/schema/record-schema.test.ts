import { readFileSync } from 'node:fs'
import { Ajv2020, type AnySchemaObject } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { readBoot, readClock, readMarks, readSsh } from '../../src/index.ts'
import { aBootJson } from '../timeline/a-boot.ts'

const schema = JSON.parse(
  readFileSync(new URL('../../schema/record-v1.schema.json', import.meta.url), 'utf8'),
) as AnySchemaObject
const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
ajv.addSchema(schema)

function problems(definition: string, value: unknown): string[] {
  const validate = ajv.compile({ $ref: `urn:boxlab:record:v1#/$defs/${definition}` })
  validate(value)
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`)
}

const boot = aBootJson()
const mark = { mark: 'spawn', source: 'runtime', clock: 'host', atNs: 5 }
const valid: readonly (readonly [string, unknown])[] = [
  ['boot', boot],
  [
    'boot',
    { version: 1, boxId: 'b', host: boot['host'], startedAt: '2026-11-30T21:22:20Z', startNs: 0, outcome: 'running' },
  ],
  [
    'boot',
    {
      ...boot,
      outcome: 'failed',
      exit: { signal: 9 },
      error: { code: 'ERR_BOX_PANIC', message: 'x', stage: 'kernel', stageMs: 0.5 },
    },
  ],
  [
    'boot',
    { ...boot, name: 'n', exit: { code: 0 }, owner: { pid: 7, startTicks: 12 }, accelerator: { asked: 'auto' } },
  ],
  ['boot', { ...boot, plan: { anything: [1, { goes: true }] }, startedAt: '2026-11-30T21:22:20.123+01:00' }],
  ['mark', mark],
  ['mark', { ...mark, mark: 'user:config-loaded', errorNs: 12, detail: { line: 'x' } }],
  ['mark', { ...mark, clock: 'guest', source: 'console', detail: null }],
  ['consoleIndex', { offset: 0, length: 1, atNs: 1 }],
  ['qmp', { atNs: 1, dir: 'out', message: { execute: 'cont' } }],
  ['counters', { atNs: 1, kind: 'process', values: { cpuMs: 1.5 } }],
  ['counters', { atNs: 1, kind: 'kvm', mark: 'vm-start', values: {} }],
  [
    'counters',
    {
      atNs: 2,
      askedNs: 1,
      kind: 'kvm',
      mark: 'ready',
      marks: ['ready', 'user:x'],
      values: { pages_4k: 3 },
      vcpus: [{ index: 0, values: { exits: 7, guest_mode: false, halt_wait_hist: [0, 1] } }],
    },
  ],
  ['counters', { atNs: 2, askedNs: 1, kind: 'kvm-schema', engine: '7.2.22', kicks: true, schemas: [{}] }],
  ['counters', { atNs: 1, kind: 'kvm-none', why: 'tcg' }],
  ['clock', { hostSendNs: 1, guestNs: 2, hostRecvNs: 3 }],
  ['ssh', { version: 1, transport: 'agent', user: 'root', port: 22, atNs: 1 }],
  ['ssh', { event: 'clock', hostSendNs: 1, guestNs: 2, hostRecvNs: 3 }],
  ['ssh', { login: 1, event: 'accept', atNs: 1, attempts: 2, refusedAtNs: 0 }],
  ['ssh', { login: 1, event: 'kex', atNs: 1, hostKey: 'ssh-ed25519', fingerprint: 'SHA256:a', method: 'c' }],
  ['ssh', { login: 2, event: 'refused', atNs: 1, evidence: { sshd: '', test: { exitCode: 1, said: '' } } }],
]

const invalid: readonly (readonly [string, unknown])[] = [
  ['boot', { ...boot, version: 2 }],
  ['boot', { ...boot, surprise: 1 }],
  ['boot', { ...boot, outcome: 'fine' }],
  ['boot', { ...boot, name: null }],
  ['boot', { ...boot, startedAt: 'yesterday' }],
  ['boot', { ...boot, startNs: -1 }],
  ['boot', { ...boot, startNs: 1.5 }],
  ['boot', { ...boot, host: { ...(boot['host'] as object), tscKhz: 0 } }],
  ['boot', { ...boot, host: { cpus: 1 } }],
  ['boot', { ...boot, accelerator: { asked: 'kvm', proved: 'auto' } }],
  ['boot', { ...boot, fingerprints: { machine: { hash: 'a', parts: {} } } }],
  ['boot', { ...boot, error: { code: 'X', message: 'y', stage: 'no-stage' } }],
  ['mark', { ...mark, mark: 'spwan' }],
  ['mark', { ...mark, mark: 'user:' }],
  ['mark', { ...mark, source: 'moon' }],
  ['mark', { ...mark, clock: 'wall' }],
  ['mark', { ...mark, errorNs: null }],
  ['mark', { ...mark, atMs: 1 }],
  ['mark', { mark: 'spawn', source: 'runtime', clock: 'host' }],
  ['consoleIndex', { offset: 0, length: 0, atNs: 1 }],
  ['qmp', { atNs: 1, dir: 'up', message: {} }],
  ['qmp', { atNs: 1, dir: 'in', message: 'hello' }],
  ['counters', { atNs: 1, kind: 'process', mark: null, values: {} }],
  ['counters', { atNs: 1, kind: 'process', values: { exits: null } }],
  ['counters', { atNs: 1, kind: 'process', values: { cpuMs: true } }],
  ['counters', { atNs: 1, kind: 'kvm', values: { exits: 'many' } }],
  ['counters', { atNs: 1, kind: 'kvm', values: {}, vcpus: [{ values: {} }] }],
  ['counters', { atNs: 1, kind: 'kvm-none' }],
  ['clock', { hostSendNs: 1, guestNs: 2 }],
  ['ssh', { version: 2, transport: 'agent', user: 'root', port: 22, atNs: 1 }],
  ['ssh', { version: 1, transport: 'vsock', user: 'root', port: 22, atNs: 1 }],
  ['ssh', { login: 0, event: 'accept', atNs: 1 }],
  ['ssh', { login: 1, event: 'hello', atNs: 1 }],
  ['ssh', { login: 1, event: 'refused', atNs: 1 }],
  [
    'ssh',
    { login: 1, event: 'refused', atNs: 1, evidence: { modes: [{ path: '/root', mode: 'rwx', owner: 'root' }] } },
  ],
]

describe('the schema of the record', () => {
  it.each(valid)('takes a %s such as %j', (definition, value) => {
    expect(problems(definition, value)).toEqual([])
  })

  it.each(invalid)('refuses a %s such as %j', (definition, value) => {
    expect(problems(definition, value).length).toBeGreaterThan(0)
  })

  it('is by itself the schema of boot.json', () => {
    const validate = ajv.getSchema('urn:boxlab:record:v1')
    expect(validate?.(boot)).toBe(true)
    expect(validate?.({ ...boot, version: 2 })).toBe(false)
  })

  it.each(valid.filter(([definition]) => definition === 'mark'))(
    'agrees with the reader of marks: %s %j',
    (_, value) => {
      expect(readMarks(JSON.stringify(value))).toMatchObject({ items: { length: 1 }, diagnostics: [] })
    },
  )

  it.each(valid.filter(([definition]) => definition === 'boot'))(
    'agrees with the reader of boot.json: %s %j',
    (_, value) => {
      expect(readBoot(JSON.stringify(value)).diagnostics).toEqual([])
    },
  )

  it.each(valid.filter(([definition]) => definition === 'clock'))(
    'agrees with the reader of the clock: %s %j',
    (_, value) => {
      expect(readClock(JSON.stringify(value))).toMatchObject({ items: { length: 1 }, diagnostics: [] })
    },
  )
})

describe('the reader of logins', () => {
  it.each(valid.filter(([definition]) => definition === 'ssh'))('agrees with the schema: %s %j', (_, value) => {
    expect(readSsh(JSON.stringify(value))).toMatchObject({ items: { length: 1 }, diagnostics: [] })
  })
})

describe('docs/record.md', () => {
  const page = readFileSync(new URL('../../../../docs/record.md', import.meta.url), 'utf8')
  const blocks = [...page.matchAll(/```json (\w+)\n([^]*?)```/g)].map(
    ([, definition = '', text = '']) => [definition, text] as const,
  )

  it('shows every file of the record', () => {
    expect(blocks.map(([definition]) => definition)).toEqual([
      'boot',
      'mark',
      'consoleIndex',
      'qmp',
      'counters',
      'clock',
      'ssh',
    ])
  })

  it.each(blocks)('shows a %s that the schema takes', (definition, text) => {
    const values = definition === 'boot' ? [text] : text.trim().split('\n')
    for (const value of values) expect(problems(definition, JSON.parse(value))).toEqual([])
  })

  it('names every mark and every stage', () => {
    const definitions = schema['$defs'] as {
      readonly markId: { readonly anyOf: readonly [{ readonly enum: string[] }] }
      readonly stageId: { readonly enum: string[] }
    }
    const ids = [...definitions.markId.anyOf[0].enum, ...definitions.stageId.enum]
    expect(ids.filter((id) => !page.includes(`\`${id}\``))).toEqual([])
  })
})
