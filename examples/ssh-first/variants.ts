import { type BoxOptions, debian, type ImageSource, Wait } from '@boxlab/harness'

/** A Debian with OpenSSH's server and logind, as a team ships it. */
function image(suite: 'trixie' | 'bookworm'): ImageSource {
  return debian({
    suite,
    variant: 'minbase',
    packages: ['systemd-sysv', 'udev', 'dbus', 'openssh-server', 'libpam-systemd'],
    customize: ['chroot "$1" systemctl mask e2scrub_reap.service'],
  })
}

// #region variants
/** Ready before PID 1 runs: `sshFirst` is called at once, and sees when the port begins to accept. */
const early = { image: image('trixie'), waitFor: Wait.forMark('agent-ready') }
/** Ready when systemd has finished: the login meets a box at rest. */
const atRest = { image: image('trixie') }

/** What is done to an image so that a first login is cheaper, or dearer. One boot each. */
export const variants = {
  stock: early,
  // logind starts the user's manager in the boot, and no login waits for it.
  linger: { ...atRest, files: [{ path: '/var/lib/systemd/linger/root', data: '' }] },
  // Debian's own /etc/pam.d/sshd without the two lines of pam_motd.
  'without-motd': {
    ...early,
    files: [
      {
        path: '/etc/pam.d/sshd',
        data: `@include common-auth
account required pam_nologin.so
@include common-account
session required pam_loginuid.so
session optional pam_keyinit.so force revoke
@include common-session
session required pam_limits.so
session required pam_env.so
@include common-password
`,
      },
    ],
  },
  // Nothing of the boot wants logind any more (systemd.unit(5): a link to /dev/null masks a link in a .wants folder), so
  // that the first login starts it over D-Bus.
  'logind-by-login': {
    ...atRest,
    files: [{ path: '/etc/systemd/system/multi-user.target.wants/systemd-logind.service', link: '/dev/null' }],
  },
  bookworm: { ...early, image: image('bookworm') },
} satisfies Readonly<Record<string, BoxOptions>>
// #endregion

export type Variant = keyof typeof variants

/** Two boots; with SSH_FIRST=all one for each variant, which takes minutes under TCG. */
export const chosen: readonly Variant[] =
  process.env['SSH_FIRST'] === 'all' ? (Object.keys(variants) as Variant[]) : ['stock', 'linger']
