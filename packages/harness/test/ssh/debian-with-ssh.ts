import { debian, type ImageSource } from '../../src/index.ts'

/** A Debian 13 with OpenSSH's server and logind, as a team ships it. */
export const debianWithSsh: ImageSource = debian({
  suite: 'trixie',
  variant: 'minbase',
  packages: ['systemd-sysv', 'udev', 'dbus', 'openssh-server', 'libpam-systemd'],
  customize: ['chroot "$1" systemctl mask e2scrub_reap.service'],
})
