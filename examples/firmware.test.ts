import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bootBox, Wait } from '@boxlab/harness'

/** A boot sector in real mode: prints `ok` on the first serial port, byte by byte, and halts. */
const sector = Buffer.alloc(1024 * 1024)
// mov dx,3f8; mov al,'o'; out dx,al; mov al,'k'; out dx,al; cli; hlt
Buffer.from([0xba, 0xf8, 0x03, 0xb0, 0x6f, 0xee, 0xb0, 0x6b, 0xee, 0xfa, 0xf4]).copy(sector)
sector.writeUInt16LE(0xaa55, 510)

test('firmware starts our boot sector', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'firmware-'))
  try {
    const path = join(folder, 'disk.img')
    await writeFile(path, sector)
    await using box = await bootBox({ boot: 'firmware', disks: [{ path }], waitFor: Wait.forConsole('ok') })
    // The table of `boxlab show` says the same of any record, also of one from another machine.
    expect(box.info().accelerator?.proved).toMatch(/^(kvm|tcg)$/)
    expect(box.marks().map(({ mark }) => mark)).toContain('vm-start')
  } finally {
    await rm(folder, { recursive: true })
  }
})
