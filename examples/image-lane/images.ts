import { debian, type ImageSource } from '@boxlab/harness'

/** The images of this lane: what a team builds and ships, here two Debians with a service of their own. */
export const images: Readonly<Record<string, ImageSource>> = {
  trixie: image('trixie'),
  bookworm: image('bookworm'),
}

// #region image
function image(suite: 'trixie' | 'bookworm'): ImageSource {
  return debian({
    suite,
    variant: 'minbase',
    packages: ['systemd-sysv', 'udev', 'dbus', 'libpam-systemd', 'openssh-server'],
    customize: [
      'echo "lab image" > "$1/etc/motd"',
      'chmod 0640 "$1/etc/motd"',
      'printf "[Service]\\nType=oneshot\\nRemainAfterExit=yes\\nExecStart=/bin/true\\n[Install]\\nWantedBy=multi-user.target\\n" > "$1/etc/systemd/system/lab.service"',
      'chroot "$1" systemctl enable lab.service',
      'chroot "$1" systemctl mask e2scrub_reap.service',
    ],
  })
}
// #endregion
