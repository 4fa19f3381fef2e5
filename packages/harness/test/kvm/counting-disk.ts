import { Buffer } from 'node:buffer'
import { codeDisk } from '../fixtures/boot-sector.ts'

/**
 * A disk whose boot sector prints `count`, spins for 2^30 cycles of the TSC, reads `mmioReads` (at least one) bytes of the
 * HPET, prints `done` and halts for good. It spins some 0.4 s so that whoever samples at that text has done it; ticks of the
 * timer would not do, since those that a slow guest missed come all at once. The HPET is QEMU's, so each read is one exit
 * for MMIO. Its address is beyond real mode's: the data segment gets its limit of 4 GiB in protected mode and keeps it.
 */
export function countingDisk(mmioReads: number): Buffer {
  const word = (value: number): [number, number] => [value & 0xff, value >> 8]
  // mov dx,3f8; for each character: mov al,c; out dx,al
  const print = (text: string): number[] => [
    0xba,
    ...word(0x3f8),
    ...[...Buffer.from(text)].flatMap((character) => [0xb0, character, 0xee]),
  ]
  const code = [0xfa, 0x31, 0xc0, 0x8e, 0xd8, 0x8e, 0xd0, 0xbc, 0x00, 0x7c] // cli; segments 0; stack below
  code.push(...print('count\n'))
  code.push(0x0f, 0x31, 0x66, 0x89, 0xc6) // rdtsc; mov esi,eax
  code.push(0x0f, 0x31, 0x66, 0x29, 0xf0) // rdtsc; sub eax,esi
  code.push(0x66, 0x3d, 0x00, 0x00, 0x00, 0x40, 0x72, 0xf3) // cmp eax,40000000; jb back to the second rdtsc
  const table = 0x100
  code.push(0x0f, 0x01, 0x16, ...word(0x7c00 + table)) // lgdt [table]
  code.push(0x0f, 0x20, 0xc0, 0x0c, 0x01, 0x0f, 0x22, 0xc0) // mov eax,cr0; or al,1; mov cr0,eax
  code.push(0xbb, 0x08, 0x00, 0x8e, 0xdb) // mov bx,8; mov ds,bx
  code.push(0x24, 0xfe, 0x0f, 0x22, 0xc0) // and al,fe; mov cr0,eax
  code.push(0x66, 0xbb, 0x00, 0x00, 0xd0, 0xfe, 0xb9, ...word(mmioReads)) // mov ebx,fed00000; mov cx,n
  code.push(0x67, 0x8a, 0x03, 0xe2, 0xfb) // mov al,[ebx]; loop back
  code.push(...print('done\n'))
  code.push(0xf4, 0xeb, 0xfd) // hlt; jmp hlt
  while (code.length < table) code.push(0)
  // The table's limit and address, then its entries: none, and data of 4 GiB from 0 on.
  code.push(...word(15), ...word(0x7c00 + table + 8), 0, 0, 0, 0)
  code.push(0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0x92, 0xcf, 0)
  return codeDisk(code)
}
