import { debian, type ImageSource } from '../../src/index.ts'

/** The last line of the console in a boot of this image. */
export const END = 'boxlab-bench: the boot is over'
/** Before systemd's stamps, on one line. */
export const STAMPS = 'boxlab-bench: stamps'

/** What systemd says of itself when its boot is over, in microseconds of the guest's clock. */
export const stampNames = ['userspace', 'finish', 'multiUser'] as const

/** `is-system-running --wait` sleeps until the boot is over: nobody looks again and again while it is measured. */
const tellStamps = `#!/bin/sh
systemctl is-system-running --wait > /dev/null
manager=$(systemctl show --value --property=UserspaceTimestampMonotonic --property=FinishTimestampMonotonic)
target=$(systemctl show --value --property=ActiveEnterTimestampMonotonic multi-user.target)
echo > /dev/ttyS0
echo ${STAMPS} $manager $target > /dev/ttyS0
echo ${END} > /dev/ttyS0
`

const unit = `[Unit]
Description=Stamps of the boot
[Service]
Type=simple
ExecStart=/usr/local/bin/boxlab-bench-stamps
[Install]
WantedBy=multi-user.target
`

/**
 * A trixie with Debian's cloud kernel and the initrd that initramfs-tools makes for it. One root for both ways to boot it:
 * nothing but the way differs.
 */
export const trixie: ImageSource = debian({
  suite: 'trixie',
  packages: ['systemd-sysv', 'udev', 'dbus', 'linux-image-cloud-amd64', 'initramfs-tools', 'zstd'],
  customize: [
    'echo bench > "$1/etc/hostname"',
    `cat > "$1/usr/local/bin/boxlab-bench-stamps" <<'END'\n${tellStamps}END`,
    'chmod 0755 "$1/usr/local/bin/boxlab-bench-stamps"',
    `cat > "$1/etc/systemd/system/boxlab-bench-stamps.service" <<'END'\n${unit}END`,
    'chroot "$1" systemctl enable boxlab-bench-stamps.service',
  ],
  // The distribution's way mounts the root itself for writing.
  freeMib: 64,
})
