// The smallest files that have the header fields which the code under test reads.

interface TinySegment {
  readonly type: number
  readonly data: Buffer
}

/** A 64-bit ELF file with these program headers and these sections. */
export function tinyElf(options: {
  readonly type: number
  readonly machine?: number
  readonly segments?: readonly TinySegment[]
  readonly sections?: Readonly<Record<string, Buffer>>
}): Buffer {
  const segments = options.segments ?? []
  const sections = Object.entries(options.sections ?? {})
  const names = Buffer.from(`\0${sections.map(([name]) => `${name}\0`).join('')}.shstrtab\0`)
  const header = Buffer.alloc(64)
  const programTable = Buffer.alloc(56 * segments.length)
  const sectionTable = Buffer.alloc(sections.length > 0 ? 64 * (sections.length + 2) : 0)
  const chunks: Buffer[] = [header, programTable]
  let end = 64 + programTable.length
  const place = (data: Buffer): number => {
    chunks.push(data)
    end += data.length
    return end - data.length
  }
  segments.forEach(({ type, data }, index) => {
    programTable.writeUInt32LE(type, index * 56)
    programTable.writeBigUInt64LE(BigInt(place(data)), index * 56 + 8)
    programTable.writeBigUInt64LE(BigInt(data.length), index * 56 + 32)
  })
  if (sections.length > 0) {
    const all = [...sections, ['.shstrtab', names] as const]
    all.forEach(([name, data], index) => {
      const at = (index + 1) * 64
      sectionTable.writeUInt32LE(names.indexOf(`\0${name}\0`) + 1, at)
      sectionTable.writeBigUInt64LE(BigInt(place(data)), at + 24)
      sectionTable.writeBigUInt64LE(BigInt(data.length), at + 32)
    })
    header.writeBigUInt64LE(BigInt(place(sectionTable)), 40)
  }
  header.write('\x7fELF\x02\x01\x01', 'latin1')
  header.writeUInt16LE(options.type, 16)
  header.writeUInt16LE(options.machine ?? 62, 18)
  header.writeBigUInt64LE(64n, 32)
  header.writeUInt16LE(56, 54)
  header.writeUInt16LE(segments.length, 56)
  header.writeUInt16LE(64, 58)
  header.writeUInt16LE(sections.length > 0 ? sections.length + 2 : 0, 60)
  header.writeUInt16LE(sections.length > 0 ? sections.length + 1 : 0, 62)
  return Buffer.concat(chunks)
}

/** A program without a dynamic loader. */
export function tinyStaticProgram(text = ''): Buffer {
  return tinyElf({ type: 2, segments: [{ type: 1, data: Buffer.from(text) }] })
}

/** A program that asks for a dynamic loader. */
export function tinyDynamicProgram(): Buffer {
  return tinyElf({ type: 3, segments: [{ type: 3, data: Buffer.from('/lib64/ld-linux-x86-64.so.2\0') }] })
}

/** A kernel module that says this about itself. */
export function tinyModule(info: readonly string[]): Buffer {
  return tinyElf({ type: 1, sections: { '.text': Buffer.from('x'), '.modinfo': Buffer.from(`${info.join('\0')}\0`) } })
}

/** A PVH vmlinux, or one whose note names another entry. */
export function tinyVmlinux(banner: string, noteType = 18): Buffer {
  const note = Buffer.alloc(20)
  note.writeUInt32LE(4, 0)
  note.writeUInt32LE(4, 4)
  note.writeUInt32LE(noteType, 8)
  note.write('Xen\0', 12)
  const segments = [
    { type: 4, data: note },
    { type: 1, data: Buffer.from(banner) },
  ]
  return tinyElf({ type: 2, segments })
}

/** A bzImage's boot header with this version line, as Documentation/arch/x86/boot.rst lays it out. */
export function tinyBzImage(versionLine: string): Buffer {
  const image = Buffer.alloc(0x1000)
  image.writeUInt16LE(0xaa55, 0x1fe)
  image.write('HdrS', 0x202)
  image.writeUInt16LE(0x020f, 0x206)
  image.writeUInt16LE(0x600, 0x20e)
  image.write(`${versionLine}\0`, 0x800)
  return image
}
