import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootBox, Wait } from '@boxlab/harness/vitest'

/** A boot sector in real mode: prints `ok` on the first serial port, byte by byte, and halts. */
const sector = Buffer.alloc(1024 * 1024)
// mov dx,3f8; mov al,'o'; out dx,al; mov al,'k'; out dx,al; cli; hlt
Buffer.from([0xba, 0xf8, 0x03, 0xb0, 0x6f, 0xee, 0xb0, 0x6b, 0xee, 0xfa, 0xf4]).copy(sector)
sector.writeUInt16LE(0xaa55, 510)

/** Only KVM counts exits, and firmware runs under any that opens, nested ones too. */
function kvmOpens(): boolean {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

describe.skipIf(!kvmOpens())('the firmware under KVM', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vmm-lane-'))
    await writeFile(join(folder, 'disk.img'), sector)
  })
  afterAll(() => rm(folder, { recursive: true }))

  async function boot(machine: string): ReturnType<typeof bootBox> {
    const disks = [{ path: join(folder, 'disk.img') }]
    const counted = { accel: 'kvm', record: { counters: true } } as const
    return bootBox({ boot: 'firmware', machine, disks, memoryMib: 64, waitFor: Wait.forConsole('ok'), ...counted })
  }

  // #region matcher
  test('reads its disk through ports on pc, and by MMIO on q35', async () => {
    await using pc = await boot('pc')
    await expect(pc).toHaveExits({ phase: 'firmware', mmio: 0, total: { min: 100, max: 100_000 } })
    await using q35 = await boot('q35')
    await expect(q35).toHaveExits({ phase: 'firmware', mmio: { min: 100, max: 2000 } })
  })
  // #endregion
})
