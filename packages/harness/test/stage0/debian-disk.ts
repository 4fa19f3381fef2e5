import { execFileSync } from 'node:child_process'
import { closeSync, openSync, statSync, writeSync } from 'node:fs'
import { debian, type ImageSource } from '@boxlab/harness'

const SECTOR_BYTES = 512
/** Partitions begin at whole MiB, as partitioning tools lay them. The boot loader has the gap before the first. */
const ALIGN_SECTORS = 2048
const ESP_KIB = 8192
/** Boot code in the first sector of a PC's disk; behind it are the disk's signature and the partition table. */
const BOOT_CODE_BYTES = 440

const GRUB_MODULES = 'part_msdos fat ext2 normal configfile echo linux serial terminal'

/** What GRUB does: its own words and the kernel's go to the serial line, where a box has its console. */
const GRUB_CONFIG = `serial --unit=0 --speed=115200
terminal_output serial
echo 'GRUB starts Debian'
linux /vmlinuz root=/dev/vda1 ro console=ttyS0
initrd /initrd.img
boot
`

/** Makes GRUB for both firmwares, inside the tree and with the tree's own programs. */
const INSTALL_GRUB = `chroot "$1" sh -eu -c '
cd /boot/grub
prefix="(hd0,msdos1)/boot/grub"
grub-mkimage -O i386-pc -p "$prefix" -o core.img biosdisk ${GRUB_MODULES}
grub-mkimage -O x86_64-efi -p "$prefix" -o BOOTX64.EFI ${GRUB_MODULES}
mkfs.vfat -C esp.img ${ESP_KIB} > /dev/null
mmd -i esp.img ::/EFI ::/EFI/BOOT
mcopy -i esp.img BOOTX64.EFI ::/EFI/BOOT/
'`

const SYSTEM = 'systemd-sysv udev dbus linux-image-cloud-amd64 initramfs-tools zstd'
const BOOT_LOADER = 'grub-pc-bin grub-efi-amd64-bin grub-common dosfstools mtools'

/** A Debian with a kernel, an initrd and a boot loader of its own: nothing of boxlab's is in it. */
export const bootableDebian: ImageSource = debian({
  suite: 'bookworm',
  packages: [...SYSTEM.split(' '), ...BOOT_LOADER.split(' ')],
  customize: [
    'echo disk > "$1/etc/hostname"',
    'echo "/dev/vda1 / ext4 defaults 0 1" > "$1/etc/fstab"',
    'mkdir -p "$1/boot/grub"',
    `cat > "$1/boot/grub/grub.cfg" <<'END'\n${GRUB_CONFIG}END`,
    INSTALL_GRUB,
  ],
  // The system mounts its root for writing.
  freeMib: 64,
})

/**
 * Writes a raw disk that boots by itself, from a BIOS and from UEFI: a partition table, GRUB before the first partition,
 * the root, and a partition that UEFI reads. `root` is the ext4 image of `bootableDebian`.
 */
export function writeBootableDisk(root: string, path: string): void {
  const rootSectors = Math.ceil(statSync(root).size / SECTOR_BYTES / ALIGN_SECTORS) * ALIGN_SECTORS
  const espSectors = (ESP_KIB * 1024) / SECTOR_BYTES
  const espAt = ALIGN_SECTORS + rootSectors
  const first = Buffer.alloc(SECTOR_BYTES)
  // boot.img loads the sector behind its own, where core.img begins, unless told otherwise.
  fileOf(root, '/usr/lib/grub/i386-pc/boot.img').copy(first, 0, 0, BOOT_CODE_BYTES)
  first.set(partition(0x83, ALIGN_SECTORS, rootSectors, true), 446)
  first.set(partition(0xef, espAt, espSectors, false), 462)
  first.writeUInt16LE(0xaa55, 510)
  execFileSync('truncate', ['--size', String((espAt + espSectors) * SECTOR_BYTES), path])
  const seek = `seek=${(ALIGN_SECTORS * SECTOR_BYTES) >> 20}`
  execFileSync('dd', [`if=${root}`, `of=${path}`, 'bs=1M', seek, 'conv=sparse,notrunc', 'status=none'])
  const file = openSync(path, 'r+')
  writeSync(file, first, 0, first.length, 0)
  const core = fileOf(root, '/boot/grub/core.img')
  if (core.length > (ALIGN_SECTORS - 1) * SECTOR_BYTES) throw new Error('GRUB does not fit before the first partition')
  writeSync(file, core, 0, core.length, SECTOR_BYTES)
  const esp = fileOf(root, '/boot/grub/esp.img')
  writeSync(file, esp, 0, esp.length, espAt * SECTOR_BYTES)
  closeSync(file)
}

/** An entry of the partition table; its places by cylinder and head are those that say "see the sector numbers". */
function partition(type: number, firstSector: number, sectors: number, isActive: boolean): Buffer {
  const entry = Buffer.from([isActive ? 0x80 : 0, 0xfe, 0xff, 0xff, type, 0xfe, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0])
  entry.writeUInt32LE(firstSector, 8)
  entry.writeUInt32LE(sectors, 12)
  return entry
}

/** A file inside an ext4 image. */
function fileOf(image: string, path: string): Buffer {
  return execFileSync('debugfs', ['-R', `cat ${path}`, image], {
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}
