/**
 * The smallest static `true`: an ELF64 header, one program header, and `exit(0)` in 9 bytes (elf(5); System V ABI,
 * AMD64 supplement). It has no libc to start, so that a round trip measures the way to it and back.
 */
export function tinyTrue(): Buffer {
  // xor edi,edi; mov eax,60 (exit); syscall
  const code = Buffer.from([0x31, 0xff, 0xb8, 60, 0, 0, 0, 0x0f, 0x05])
  const [base, headerBytes] = [0x40_0000n, 64 + 56]
  const file = Buffer.alloc(headerBytes + code.length)
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]) // 64 bits, little-endian, version 1
  file.writeUInt16LE(2, 16) // e_type: ET_EXEC
  file.writeUInt16LE(62, 18) // e_machine: EM_X86_64
  file.writeUInt32LE(1, 20) // e_version
  file.writeBigUInt64LE(base + BigInt(headerBytes), 24) // e_entry
  file.writeBigUInt64LE(64n, 32) // e_phoff
  file.writeUInt16LE(64, 52) // e_ehsize
  file.writeUInt16LE(56, 54) // e_phentsize
  file.writeUInt16LE(1, 56) // e_phnum
  file.writeUInt32LE(1, 64) // p_type: PT_LOAD
  file.writeUInt32LE(5, 68) // p_flags: read, execute
  file.writeBigUInt64LE(base, 80) // p_vaddr
  file.writeBigUInt64LE(base, 88) // p_paddr
  file.writeBigUInt64LE(BigInt(file.length), 96) // p_filesz
  file.writeBigUInt64LE(BigInt(file.length), 104) // p_memsz
  file.writeBigUInt64LE(0x1000n, 112) // p_align
  file.set(code, headerBytes)
  return file
}
