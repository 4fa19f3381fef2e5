/** A part of an ELF file, as offsets into it in bytes. */
export interface ElfPart {
  readonly offset: number
  readonly size: number
}

/** A program header's type and place. */
export interface ElfSegment extends ElfPart {
  readonly type: number
}

/** What is read of a 64-bit little-endian ELF header. Format: elf(5). */
export interface ElfHeader {
  readonly type: number
  readonly machine: number
  readonly segments: readonly ElfSegment[]
}

/** Program header type: the path of a dynamic loader; a static program has none. */
export const PT_INTERP = 3
/** Program header type: notes. */
export const PT_NOTE = 4
/** ELF machine number of x86-64. */
export const EM_X86_64 = 62
/** ELF file types that can be executed: at a fixed address, and anywhere (a static-pie too). */
export const ET_EXEC = 2
export const ET_DYN = 3

const HEADER_BYTES = 64
const SEGMENT_BYTES = 56
const SECTION_BYTES = 64

/** Reads the header and the program headers; `start` is the file's beginning. Undefined when it is not 64-bit ELF. */
export function readElfHeader(start: Buffer): ElfHeader | undefined {
  if (!isElf64(start)) return undefined
  const table = Number(start.readBigUInt64LE(32))
  const size = start.readUInt16LE(54)
  const count = start.readUInt16LE(56)
  if (count > 0 && (size < SEGMENT_BYTES || table + size * count > start.length)) return undefined
  const segments = Array.from({ length: count }, (_, index) => {
    const at = table + index * size
    return {
      type: start.readUInt32LE(at),
      offset: Number(start.readBigUInt64LE(at + 8)),
      size: Number(start.readBigUInt64LE(at + 32)),
    }
  })
  return { type: start.readUInt16LE(16), machine: start.readUInt16LE(18), segments }
}

/** Whether the bytes begin a statically linked x86-64 program: one that runs where there is nothing else. */
export function isStaticProgram(start: Buffer): boolean {
  const elf = readElfHeader(start)
  if (elf === undefined || elf.machine !== EM_X86_64) return false
  return [ET_EXEC, ET_DYN].includes(elf.type) && elf.segments.length > 0 && !elf.segments.some(isInterpreter)
}

/** The bytes of the section of that name; undefined when there is none or the file is cut. */
export function readElfSection(file: Buffer, name: string): Buffer | undefined {
  if (!isElf64(file)) return undefined
  const table = Number(file.readBigUInt64LE(40))
  const size = file.readUInt16LE(58)
  const count = file.readUInt16LE(60)
  if (size < SECTION_BYTES || table + size * count > file.length) return undefined
  const part = (index: number): Buffer => {
    const at = table + index * size
    const offset = Number(file.readBigUInt64LE(at + 24))
    return file.subarray(offset, offset + Number(file.readBigUInt64LE(at + 32)))
  }
  const namesIndex = file.readUInt16LE(62)
  if (namesIndex >= count) return undefined
  const names = part(namesIndex)
  const wanted = Buffer.from(`${name}\0`)
  for (let index = 0; index < count; index++) {
    const nameAt = file.readUInt32LE(table + index * size)
    if (names.subarray(nameAt, nameAt + wanted.length).equals(wanted)) return part(index)
  }
  return undefined
}

function isInterpreter(segment: ElfSegment): boolean {
  return segment.type === PT_INTERP
}

/** Magic, class 2 (64 bits), data 1 (little-endian). */
function isElf64(bytes: Buffer): boolean {
  return bytes.length >= HEADER_BYTES && bytes.readUInt32BE(0) === 0x7f454c46 && bytes[4] === 2 && bytes[5] === 1
}
