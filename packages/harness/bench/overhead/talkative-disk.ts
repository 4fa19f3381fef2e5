/**
 * A disk whose boot sector prints `dots` dots (up to 65535) and then a text to the first serial port, and halts. Like a
 * kernel's console it waits before each byte until the transmitter is empty (bit 5 of the line status register, 3fdh),
 * so that an engine that is slow to hand a byte over slows the guest. The disk is larger than the sector: SeaBIOS reads
 * nothing from one without geometry.
 */
export function talkativeDisk(dots: number, text: string): Buffer {
  const code: number[] = []
  const emit = (...bytes: readonly number[]): void => void code.push(...bytes)
  const waitForTransmitter = (): void => emit(0xba, 0xfd, 0x03, 0xec, 0xa8, 0x20, 0x74, 0xfb) // mov dx,3fd; in al,dx; test al,20; jz -5
  emit(0xfa, 0x31, 0xc0, 0x8e, 0xd8) // cli; xor ax,ax; mov ds,ax
  emit(0xb9, dots & 0xff, dots >> 8) // mov cx,dots
  const each = code.length
  waitForTransmitter()
  emit(0xba, 0xf8, 0x03, 0xb0, 0x2e, 0xee) // mov dx,3f8; mov al,'.'; out dx,al
  emit(0xe2, (each - code.length - 2) & 0xff) // loop to the wait
  emit(0xbe) // mov si, address of the text (filled in below)
  const hole = code.length
  emit(0, 0)
  const next = code.length
  waitForTransmitter()
  emit(0xac, 0x84, 0xc0, 0x74, 0x06) // lodsb; test al,al; jz to the halt
  emit(0xba, 0xf8, 0x03, 0xee) // mov dx,3f8; out dx,al
  emit(0xeb, (next - code.length - 2) & 0xff) // jmp to the wait
  emit(0xf4, 0xeb, 0xfd) // hlt; jmp hlt
  const address = 0x7c00 + code.length
  code.splice(hole, 2, address & 0xff, address >> 8)
  const disk = Buffer.alloc(1024 * 1024)
  Buffer.concat([Buffer.from(code), Buffer.from(`${text}\0`)]).copy(disk)
  disk.writeUInt16LE(0xaa55, 510)
  return disk
}
