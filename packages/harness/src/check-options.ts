import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs'
import { BoxError } from '@boxlab/native'
import { KERNEL_START_BYTES, looksLikeKernel } from './images/index.ts'
import type { BoxOptions } from './options.ts'
import { describeStrategy, needsAgent, strategyProblem, type WaitStrategy } from './wait/index.ts'

/**
 * x86's COMMAND_LINE_SIZE (arch/x86/include/asm/setup.h) less its final NUL, less the room for what we put before the
 * user's part.
 */
export const cmdlineLimitBytes: number = 2047 - 128
/** The kernel's MAX_ARG_STRLEN (include/uapi/linux/binfmts.h): one `NAME=value` of a command's environment. */
const variableLimitBytes = 128 * 1024
/** A quarter of the largest request that the agent takes: argv and the rest of the frame must fit too. */
const environmentLimitBytes = 1024 * 1024

type Check = (value: unknown, name: string, options: BoxOptions) => void

/** Refuses options in one sentence. */
export function refuse(sentence: string): never {
  throw new BoxError('ERR_BOX_OPTIONS', sentence)
}

function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`
}

const whole =
  (from: number, to: number, unit = ''): Check =>
  (value, name) => {
    if (typeof value === 'number' && Number.isInteger(value) && value >= from && value <= to) return
    refuse(`\`${name}\` must be a whole number from ${from} to ${to}${unit}, not ${shown(value)}`)
  }

const oneOf =
  (...words: readonly string[]): Check =>
  (value, name) => {
    if (typeof value === 'string' && words.includes(value)) return
    refuse(`\`${name}\` must be ${words.map((word) => `'${word}'`).join(' or ')}, not ${shown(value)}`)
  }

const text: Check = (value, name) => {
  if (typeof value !== 'string' || value === '')
    refuse(`\`${name}\` must be a text that is not empty, not ${shown(value)}`)
  if (value.includes('\0')) refuse(`\`${name}\` holds a NUL byte; take it out`)
}

const truth: Check = (value, name) => {
  if (typeof value !== 'boolean') refuse(`\`${name}\` must be true or false, not ${shown(value)}`)
}

const list =
  (check: Check): Check =>
  (value, name, options) => {
    if (!Array.isArray(value)) refuse(`\`${name}\` must be an array, not ${shown(value)}`)
    value.forEach((entry, index) => check(entry, `${name}[${index}]`, options))
  }

const fields =
  (checks: Readonly<Record<string, Check>>, required: readonly string[] = []): Check =>
  (value, name, options) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      refuse(`\`${name}\` must be an object, not ${shown(value)}`)
    }
    const inside = name === 'options' ? '' : `${name}.`
    for (const [key, entry] of Object.entries(value)) {
      const check = Object.hasOwn(checks, key) ? checks[key] : undefined
      if (!check) refuse(`\`${inside}${key}\` is no option of a box; known are ${Object.keys(checks).join(', ')}`)
      if (entry !== undefined) check(entry, inside + key, options)
    }
    const missing = required.find((key) => (value as Record<string, unknown>)[key] === undefined)
    if (missing) refuse(`\`${inside}${missing}\` is missing`)
  }

const readableFile: Check = (value, name, options) => {
  text(value, name, options)
  const path = value as string
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat) refuse(`\`${name}\`: there is no file ${path}`)
  if (stat.isDirectory()) refuse(`\`${name}\` must be a file, and ${path} is a directory`)
  try {
    accessSync(path, constants.R_OK)
  } catch {
    refuse(`\`${name}\`: ${path} may not be read by this user`)
  }
}

const cmdline: Check = (value, name, options) => {
  text(value, name, options)
  const bytes = Buffer.byteLength(value as string)
  if (/[\r\n]/.test(value as string)) refuse(`\`${name}\` holds a line end; a kernel command line is one line`)
  if (bytes > cmdlineLimitBytes) {
    refuse(
      `\`${name}\` has ${bytes} bytes and the kernel takes ${cmdlineLimitBytes}; pass settings in \`files\` or \`env\``,
    )
  }
}

const env: Check = (value, name) => {
  if (typeof value !== 'object' || value === null) refuse(`\`${name}\` must be an object of texts, not ${shown(value)}`)
  let total = 0
  for (const [key, entry] of Object.entries(value)) {
    if (typeof entry !== 'string') refuse(`\`${name}.${key}\` must be a text, not ${shown(entry)}`)
    if (key === '' || /[=\0]/.test(key) || entry.includes('\0')) {
      refuse(
        `\`${name}\` has the variable '${key}', which no environment can hold (an empty name, '=' in it, or a NUL byte)`,
      )
    }
    const bytes = Buffer.byteLength(key) + Buffer.byteLength(entry) + 2
    if (bytes > variableLimitBytes)
      refuse(`\`${name}.${key}\` has ${bytes} bytes and Linux takes ${variableLimitBytes} for one variable`)
    total += bytes
  }
  if (total > environmentLimitBytes) {
    refuse(
      `\`${name}\` has ${total} bytes and a box takes ${environmentLimitBytes}; pass what the guest needs, not the whole process.env`,
    )
  }
}

const kernelPath: Check = (value, name, options) => {
  readableFile(value, name, options)
  const path = value as string
  const start = Buffer.alloc(KERNEL_START_BYTES)
  const file = openSync(path, 'r')
  const bytes = readSync(file, start)
  closeSync(file)
  if (looksLikeKernel(start.subarray(0, bytes))) return
  refuse(`\`${name}\`: ${path} is not an x86 Linux kernel (neither a bzImage nor ELF)`)
}

const kernel: Check = (value, name, options) => {
  if (typeof value === 'string') return kernelPath(value, name, options)
  if (typeof value === 'object' && value !== null && 'resolve' in value && typeof value.resolve === 'function') return
  refuse(`\`${name}\` must be a path or a kernel source such as debianKernel(), not ${shown(value)}`)
}

const waitFor: Check = (value, name, options) => {
  const problem = strategyProblem(value)
  if (problem !== undefined) refuse(`\`${name}\`: ${problem}`)
  if (options.boot !== undefined && options.boot !== 'direct' && needsAgent(value as WaitStrategy)) {
    const who = options.boot === 'firmware' ? 'a firmware box' : "`boot: 'image'`"
    refuse(`\`${name}\`: ${describeStrategy(value as WaitStrategy)} needs our agent, and ${who} has none`)
  }
}

const image: Check = (value, name) => {
  if (typeof value === 'object' && value !== null && 'resolve' in value && typeof value.resolve === 'function') return
  refuse(`\`${name}\` must be an image source such as directory('/path'), not ${shown(value)}`)
}

const unitName = /^[A-Za-z0-9:_.\\@-]+\.[a-z]+$/

/** Names by systemd.unit(5); those of `units` may have the folder of a drop-in before them. */
const unitNames: Check = (value, name) => {
  if (typeof value !== 'string' || !unitName.test(value)) {
    refuse(`\`${name}\` must be a unit of systemd with its type, such as 'ssh.service', not ${shown(value)}`)
  }
}

const units: Check = (value, name, options) => {
  if (typeof value !== 'object' || value === null) refuse(`\`${name}\` must be an object of texts, not ${shown(value)}`)
  for (const [key, entry] of Object.entries(value)) {
    const [dropIn, unit = dropIn] = key.split('/').toReversed()
    unitNames(unit?.replace(/\.d$/, ''), `${name}['${key}']`, options)
    if (key.includes('/') && !(/^[^/]+\.d\/[^/]+\.conf$/.test(key) && dropIn)) {
      refuse(`\`${name}['${key}']\` must be a unit, or a drop-in such as 'ssh.service.d/limits.conf'`)
    }
    if (typeof entry !== 'string') refuse(`\`${name}['${key}']\` must be a text, not ${shown(entry)}`)
  }
}

const signal: Check = (value, name) => {
  if (!(value instanceof AbortSignal)) refuse(`\`${name}\` must be an AbortSignal, not ${shown(value)}`)
}

const bound = whole(1, 24 * 3600 * 1000, ' milliseconds')

const traceOptions = fields({ events: list(text) }, ['events'])
const counterOptions = fields({ at: list(text) }, ['at'])

const box = fields({
  kernel,
  image,
  boot: oneOf('direct', 'image', 'firmware'),
  cmdline,
  files: list((value, name) => {
    if (typeof value !== 'object' || value === null || !('path' in value))
      refuse(`\`${name}\` must be an object with a path`)
  }),
  units,
  mask: list(unitNames),
  writes: oneOf('overlay', 'disk'),
  run: oneOf('entrypoint'),
  modules: list(text),
  machine: text,
  cpuModel: text,
  cpus: whole(1, 255),
  memoryMib: whole(16, 1024 * 1024, ' MiB'),
  accel: oneOf('auto', 'kvm', 'tcg'),
  devices: fields({
    rng: truth,
    net: oneOf('none', 'user'),
    balloon: truth,
    hotplugPorts: whole(0, 16),
    ioeventfd: truth,
    extra: list(text),
  }),
  disks: list(
    fields({ path: readableFile, format: oneOf('raw', 'qcow2'), readonly: truth, interface: oneOf('virtio', 'ide') }, [
      'path',
    ]),
  ),
  firmware: readableFile,
  env,
  user: text,
  workdir: text,
  timeouts: fields({ bootMs: bound, stopMs: bound, execMs: bound, turnMs: bound }),
  record: fields({
    dir: text,
    keep: oneOf('always', 'on-failure', 'never'),
    maxMib: whole(1, 1024 * 1024, ' MiB'),
    journal: truth,
    waits: truth,
    jobs: truth,
    initcalls: truth,
    trace: (value, name, options) => (typeof value === 'boolean' ? undefined : traceOptions(value, name, options)),
    counters: (value, name, options) => (typeof value === 'boolean' ? undefined : counterOptions(value, name, options)),
  }),
  waitFor,
  signal,
  name: text,
  engine: text,
})

/** Options that only a Linux guest of ours understands. */
const directOnly = [
  'kernel',
  'image',
  'cmdline',
  'files',
  'units',
  'mask',
  'writes',
  'run',
  'modules',
  'env',
  'user',
  'workdir',
] as const
/** Options that mean nothing without an image. */
const imageOnly = ['units', 'mask', 'writes', 'run'] as const

/** Checks the options of a box. Throws a `BoxError` with `ERR_BOX_OPTIONS` whose sentence names the option. */
export function checkOptions(options: BoxOptions): void {
  box(options, 'options', options)
  if (options.boot === 'image') {
    const extra = directOnly.find((key) => key !== 'image' && options[key] !== undefined)
    if (extra) refuse(`\`${extra}\` and \`boot: 'image'\` exclude each other: the image boots itself, without an agent`)
    if (!options.image) refuse("`boot: 'image'` needs an `image`: a `disk()` with a boot loader")
  } else if (options.boot === 'firmware') {
    const extra = directOnly.find((key) => options[key] !== undefined)
    if (extra)
      refuse(`\`${extra}\` and \`boot: 'firmware'\` exclude each other: a firmware box has no kernel or agent of ours`)
    if (!options.disks?.length && !options.firmware) {
      refuse("`boot: 'firmware'` needs something to boot: give `disks` or `firmware`")
    }
  } else if (options.firmware) {
    refuse("`firmware` and a kernel are two sources of a boot: give `boot: 'firmware'` for a box without kernel")
  }
  const lonely = options.image ? undefined : imageOnly.find((key) => options[key] !== undefined)
  if (lonely) refuse(`\`${lonely}\` needs an \`image\`: a bare box has no root of its own and no systemd`)
  const asked = (['waits', 'jobs'] as const).find((key) => options.record?.[key])
  if (asked && (!options.image || (options.boot ?? 'direct') !== 'direct')) {
    refuse(`\`record.${asked}\` needs an \`image\` with systemd, booted beside our agent`)
  }
  if (options.record?.initcalls && (options.boot ?? 'direct') !== 'direct') {
    refuse(`\`record.initcalls\` needs a kernel that we boot beside our agent: it excludes \`boot: '${options.boot}'\``)
  }
  const disk = options.disks?.findIndex(({ readonly, interface: bus }) => {
    return readonly && (bus ?? (options.boot === 'firmware' ? 'ide' : 'virtio')) === 'ide'
  })
  if (disk !== undefined && disk >= 0) {
    refuse(
      `\`disks[${disk}].readonly\`: an IDE disk cannot be read-only; leave it out (the file is never written) or use virtio`,
    )
  }
  if (options.workdir && !options.workdir.startsWith('/')) {
    refuse(`\`workdir\` must be an absolute path in the guest, not '${options.workdir}'`)
  }
}
