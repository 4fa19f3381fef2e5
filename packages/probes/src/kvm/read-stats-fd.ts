import type { Assembler } from './assemble.ts'
import type { ExitsProblems } from './diagnostics.ts'
import { STAT_TYPES, STAT_UNITS, type StatSchema, type StatValue, vcpuId } from './stats.ts'

const HEADER_BYTES = 24
const DESCRIPTOR_BYTES = 16
const MAX_DESCRIPTORS = 4096

/**
 * True for the bytes that a descriptor of KVM_GET_STATS_FD gives (Linux include/uapi/linux/kvm.h, struct
 * kvm_stats_header): flags of 0, so four bytes that no text begins with, and an id right behind the header.
 */
export function isStatsFd(bytes: Uint8Array): boolean {
  if (bytes.length < HEADER_BYTES) return false
  const { flags, nameSize, count, idOffset } = header(bytes)
  return (
    flags === 0 && nameSize > 0 && nameSize <= 256 && count > 0 && count <= MAX_DESCRIPTORS && idOffset >= HEADER_BYTES
  )
}

/** Takes the statistics of a VM or a vCPU. The offsets of the values are not in the order of the descriptors. */
export function takeStatsFd(bytes: Uint8Array, label: string, into: Assembler, problems: ExitsProblems): void {
  const { nameSize, count, idOffset, descOffset, dataOffset } = header(bytes)
  const view = viewOf(bytes)
  const id = text(bytes, idOffset, nameSize)
  const [, vmId, number] = /^(kvm-\d+)(?:\/vcpu-(\d+))?$/.exec(id) ?? []
  if (vmId === undefined) problems.add('damaged', 1, 'id')
  const values = new Map<string, StatValue>()
  for (let n = 0; n < count; n += 1) {
    const at = descOffset + n * (DESCRIPTOR_BYTES + nameSize)
    if (at + DESCRIPTOR_BYTES + nameSize > bytes.length) {
      problems.add('damaged', 1, `descriptor ${n}`)
      break
    }
    const name = text(bytes, at + DESCRIPTOR_BYTES, nameSize)
    const words = view.getUint16(at + 6, true)
    const from = dataOffset + view.getUint32(at + 8, true)
    const schema = schemaOf(view, at, name, number === undefined ? 'vm' : 'vcpu')
    if (name === '' || words === 0 || from + words * 8 > bytes.length) problems.add('damaged', 1, name)
    else if (schema === undefined) problems.add('unknown-type', 1, name)
    else {
      into.schemas.set(name, schema)
      values.set(name, valueAt(view, from, words, schema))
    }
  }
  into.add({ label, vmId, values, ...(number !== undefined && { vcpu: vcpuId(Number(number)) }) })
}

function schemaOf(view: DataView, at: number, name: string, target: 'vcpu' | 'vm'): StatSchema | undefined {
  const flags = view.getUint32(at, true)
  const type = STAT_TYPES[flags & 15]
  const unitNumber = (flags >> 4) & 15
  const unit = STAT_UNITS[unitNumber - 1]
  if (type === undefined || (unitNumber > 0 && unit === undefined)) return undefined
  const exponent = view.getInt16(at + 4, true)
  const bucketSize = view.getUint32(at + 12, true)
  return {
    name,
    target,
    type,
    ...(unit !== undefined && { unit }),
    ...(exponent !== 0 && { base: ((flags >> 8) & 15) === 1 ? 2 : 10 }),
    exponent,
    ...(bucketSize > 0 && { bucketSize }),
  }
}

function valueAt(view: DataView, from: number, words: number, { type, unit }: StatSchema): StatValue {
  if (type.endsWith('histogram')) {
    return Array.from({ length: words }, (_, index) => Number(view.getBigUint64(from + index * 8, true)))
  }
  const value = Number(view.getBigUint64(from, true))
  return unit === 'boolean' ? value !== 0 : value
}

function header(bytes: Uint8Array): {
  readonly flags: number
  readonly nameSize: number
  readonly count: number
  readonly idOffset: number
  readonly descOffset: number
  readonly dataOffset: number
} {
  const view = viewOf(bytes)
  const [flags = 0, nameSize = 0, count = 0, idOffset = 0, descOffset = 0, dataOffset = 0] = [0, 4, 8, 12, 16, 20].map(
    (at) => view.getUint32(at, true),
  )
  return { flags, nameSize, count, idOffset, descOffset, dataOffset }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** A name that NULs fill up to its size. */
function text(bytes: Uint8Array, at: number, size: number): string {
  const field = bytes.subarray(at, at + size)
  const end = field.indexOf(0)
  return new TextDecoder('latin1').decode(end < 0 ? field : field.subarray(0, end))
}
