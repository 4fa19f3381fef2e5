import type { Assembler } from './assemble.ts'
import type { ExitsProblems } from './diagnostics.ts'
import { STAT_TYPES, STAT_UNITS, type StatSchema, type StatType, type StatValue, vcpuId } from './stats.ts'

/** The words of booleans that are known; libvirt translates them (tools/virsh-util.c takes `_("yes")`). */
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['yes', true],
  ['no', false],
  ['oui', true],
  ['non', false],
  ['ja', true],
  ['nein', false],
  ['sí', true],
  ['sim', true],
  ['não', false],
  ['да', true],
  ['нет', false],
  ['是', true],
  ['否', false],
  ['はい', true],
  ['いいえ', false],
])

/** libvirt's suffixes (include/libvirt/libvirt-domain.h, VIR_DOMAIN_STATS_VCPU): what KVM calls the type. */
const SUFFIXES: ReadonlyMap<string, StatType> = new Map([
  ['sum', 'cumulative'],
  ['cur', 'instant'],
  ['max', 'peak'],
])

/** Names of statistics of a VM (arch/x86/kvm/x86.c, kvm_vm_stats_desc); `info stats` does not say of whom it prints. */
const VM_NAMES = /^(?:mmu_|pages_|nx_lpage_splits$|max_mmu_|remote_tlb_flush)/

/** `[1]=0 [2]=3 …`: the buckets, counted from 1. */
function buckets(value: string): readonly number[] | undefined {
  const words = value.split(' ')
  const counts = words.map((word, index) => {
    const [, at, count] = /^\[(\d{1,3})\]=(\d{1,20})$/.exec(word) ?? []
    return Number(at) === index + 1 ? Number(count) : undefined
  })
  return counts.every((count) => count !== undefined) ? counts : undefined
}

/** A reader of lines; keeps what it needs between them. */
export interface TextReader {
  /** False for a line that is no statistic. */
  line(text: string, number: number): boolean
  end(): void
}

/**
 * Reads `virsh domstats --vcpu --vm` (`vcpu.0.exits.sum=7014`), HMP's `info stats` (`exits (cumulative): 7014`, QEMU
 * hmp-cmds; which vCPU it is of is not said) and statistics decoded line by line (`exits  flags=0x0 … val=151`, the id
 * above them in `id='kvm-7/vcpu-0'`).
 */
export function readStatsText(file: string, into: Assembler, problems: ExitsProblems): TextReader {
  let parts = new Map<string, Map<string, StatValue>>()
  let label = file
  let vmId: string | undefined
  let decoded: string | undefined

  function flush(): void {
    for (const [part, values] of parts) {
      into.add({ label, vmId, values, ...(part !== 'vm' && { vcpu: part }) })
    }
    parts = new Map()
  }

  function put(part: string, name: string, value: StatValue): void {
    // The same again is the next reading of the same VM.
    if (parts.get(part)?.has(name)) flush()
    const values = parts.get(part) ?? new Map<string, StatValue>()
    parts.set(part, values.set(name, value))
  }

  function domainLine(text: string, number: number): boolean {
    const equals = text.indexOf('=')
    const keys = text.slice(0, equals).split('.')
    const value = text.slice(equals + 1).trim()
    const [scope, second = '', third = ''] = keys
    const vcpu = scope === 'vcpu' && keys.length === 4 && /^\d{1,6}$/.test(second)
    const [name, suffix] = vcpu ? [third, keys[3]] : [second, third]
    const type = SUFFIXES.get(suffix ?? '')
    if (type === undefined || name === '' || !(vcpu || (scope === 'vm' && keys.length === 3))) {
      // `vcpu.current=2`, `vcpu.0.time=…`: libvirt's own, beside KVM's.
      return scope === 'vcpu' || scope === 'vm'
    }
    const target = vcpu ? 'vcpu' : 'vm'
    const read = /^\d{1,20}$/.test(value) ? Number(value) : type === 'instant' ? BOOLEANS.get(value) : undefined
    if (read === undefined) {
      problems.add(type === 'instant' ? 'localised-value' : 'bad-value', number, text.slice(0, equals))
      return true
    }
    const unit = typeof read === 'boolean' ? ('boolean' as const) : undefined
    into.schemas.set(name, { name, target, type, ...(unit && { unit }), exponent: 0 })
    put(vcpu ? vcpuId(Number(second)) : 'vm', name, read)
    return true
  }

  function decodedLine(text: string, number: number): boolean {
    const [name = '', ...rest] = text.split(' ').filter((word) => word !== '')
    const fields = new Map(rest.map((word) => word.split('=', 2) as [string, string]))
    const flags = Number(fields.get('flags'))
    const type = STAT_TYPES[flags & 15]
    const unitNumber = (flags >> 4) & 15
    const unit = STAT_UNITS[unitNumber - 1]
    if (decoded === undefined || type === undefined || (unitNumber > 0 && unit === undefined)) {
      problems.add('unknown-type', number, name)
      return true
    }
    // A histogram is printed by its first bucket only, so its buckets are not known.
    if (type.endsWith('histogram')) return true
    const value = fields.get('val') ?? ''
    if (!/^\d{1,20}$/.test(value)) {
      problems.add('bad-value', number, name)
      return true
    }
    const exponent = Number(fields.get('exp') ?? 0)
    const schema: StatSchema = {
      name,
      target: decoded === 'vm' ? 'vm' : 'vcpu',
      type,
      ...(unit !== undefined && { unit }),
      ...(exponent !== 0 && { base: ((flags >> 8) & 15) === 1 ? 2 : 10 }),
      exponent,
    }
    into.schemas.set(name, schema)
    put(decoded, name, unit === 'boolean' ? value !== '0' : Number(value))
    return true
  }

  function monitorLine(name: string, words: string, value: string, number: number): boolean {
    const [type = '', unit] = words.split(', ')
    if (!STAT_TYPES.includes(type as StatType)) {
      problems.add('unknown-type', number, name)
      return true
    }
    // Its units are in words, such as `ns`: seconds with an exponent.
    const exponent = unit === 'ns' ? -9 : 0
    const read = type.endsWith('histogram')
      ? buckets(value)
      : /^\d{1,20}$/.test(value)
        ? Number(value)
        : BOOLEANS.get(value)
    if (read === undefined) {
      problems.add('bad-value', number, name)
      return true
    }
    const target = VM_NAMES.test(name) ? 'vm' : 'vcpu'
    into.schemas.set(name, {
      name,
      target,
      type: type as StatType,
      ...(exponent !== 0 && { unit: 'seconds', base: 10 }),
      ...(typeof read === 'boolean' && { unit: 'boolean' }),
      exponent,
    })
    put(target === 'vm' ? 'vm' : 'the vCPU', name, read)
    return true
  }

  return {
    line(raw, number) {
      const text = raw.trim()
      if (text === '') return true
      // `Domain: 'name'`, in virsh's language; the statistics of another VM begin.
      const domain = /^\p{L}{3,20}\s?: ?'([^']{1,200})'$/u.exec(text.slice(0, 240))
      if (domain) {
        flush()
        label = domain[1] ?? file
        vmId = label
        return true
      }
      if (/^(?:vcpu|vm)\.[^ =]{1,200}=/.test(text)) return domainLine(text, number)
      const id = / id='(kvm-\d{1,10})(?:\/vcpu-(\d{1,6}))?'/.exec(text.slice(0, 400))
      if (id) {
        if (vmId !== id[1]) flush()
        vmId = id[1]
        decoded = id[2] === undefined ? 'vm' : vcpuId(Number(id[2]))
        return true
      }
      const monitor = /^(\w{1,64}) \(([a-z\d, -]{1,60})\): (.*)$/.exec(text.slice(0, 2000))
      if (monitor) return monitorLine(monitor[1] ?? '', monitor[2] ?? '', (monitor[3] ?? '').trim(), number)
      if (text === 'provider: kvm') return true
      if (/^\w{1,64} +flags=0x[\da-f]{1,8} /.test(text)) return decodedLine(text, number)
      return false
    },
    end: flush,
  }
}
