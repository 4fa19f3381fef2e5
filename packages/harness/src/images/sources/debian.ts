import { mkdir } from 'node:fs/promises'
import { arch, tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildRoot } from '../build-root.ts'
import { ImageError } from '../errors.ts'
import { counted } from '../progress.ts'
import { type FormatOptions, formatOptions, type ImageSource } from '../root-image.ts'
import { pipeTool } from '../run-tool.ts'
import { toolDigest } from '../tool-digest.ts'

/** Which Debian. */
export interface DebianOptions extends FormatOptions {
  /** 'bookworm', 'trixie', 'forky', 'sid', … */
  readonly suite: string
  /** Beside those that are essential, with what they depend on. Default: systemd as init, udev, D-Bus. */
  readonly packages?: readonly string[]
  /** Lines for mmdebstrap's --customize-hook: shell lines with the tree as `$1`, or its own, such as `copy-in FILE /DIR`. */
  readonly customize?: string | readonly string[]
  /** A mirror's address, or whole lines of sources.list. Default: Debian's own, with updates and security of a stable suite. */
  readonly mirror?: string | readonly string[]
  /** What apt resolves: 'minbase' (default), 'essential', 'apt', 'required', 'standard', … as mmdebstrap knows it. */
  readonly variant?: string
  /** Refuses a mirror whose index is out of date, as apt does. Default true. */
  readonly checkValidUntil?: boolean
  /** After this long a suite is built again, since its mirror goes on. Default 7; Infinity never. */
  readonly maxAgeDays?: number
}

const DEFAULT_PACKAGES = ['systemd-sysv', 'udev', 'dbus']
const DAY_MS = 86_400_000
const WHEN_MISSING = 'install the package mmdebstrap, or take Debian as a container image with oci()'

/**
 * A Debian, made by mmdebstrap from the packages of a mirror. Root, or a user with subordinate ids (/etc/subuid) and the
 * package uidmap: ERR_IMAGE_PRIVILEGE otherwise. A build takes 20 seconds and more; it is kept for `maxAgeDays`.
 */
export function debian(options: DebianOptions): ImageSource {
  const { suite } = options
  const packages = [...(options.packages ?? DEFAULT_PACKAGES)]
  const name = `debian ${suite}`
  return {
    name,
    async resolve(context) {
      check(suite, packages)
      const { signal } = context
      const tool = await toolDigest('mmdebstrap', WHEN_MISSING)
      const customize = [options.customize ?? []].flat()
      const mirror = [options.mirror ?? []].flat()
      const { variant = 'minbase', checkValidUntil = true } = options
      return buildRoot(context, {
        ...formatOptions(options),
        name,
        inputs: { debian: suite, packages: packages.toSorted(), customize, mirror, variant, tool, host: arch() },
        maxAgeMs: (options.maxAgeDays ?? 7) * DAY_MS,
        async fill(tree, folder, report) {
          report('fetch')
          const isRoot = process.getuid?.() === 0
          // In its other mode mmdebstrap's helpers have other ids, and get nowhere near a private cache.
          const temporary = isRoot ? join(folder, 'temporary') : tmpdir()
          if (isRoot) await mkdir(temporary)
          const args = [
            `--mode=${isRoot ? 'root' : 'unshare'}`,
            '--format=tar',
            `--variant=${variant}`,
            ...(packages.length > 0 ? [`--include=${packages.join(',')}`] : []),
            ...(checkValidUntil ? [] : ['--aptopt=Acquire::Check-Valid-Until "false"']),
            ...customize.map((line) => `--customize-hook=${line}`),
            suite,
            '-',
            ...mirror,
          ]
          let sourceBytes = 0
          const chunks = pipeTool('mmdebstrap', args, {
            whenMissing: WHEN_MISSING,
            signal,
            env: { TMPDIR: temporary },
            ownProcesses: isRoot,
            onLine: (line) => {
              // Once the tree comes, that it comes is the news.
              if (sourceBytes === 0 && line.startsWith('I: ')) report('fetch', { detail: line.slice(3) })
            },
          })
          const watched = counted(chunks, (doneBytes) => {
            if (sourceBytes === 0) report('unpack')
            sourceBytes = doneBytes
            report('unpack', { doneBytes })
          })
          try {
            await tree.addLayer(watched, { name, signal })
          } catch (error) {
            throw explained(name, suite, error)
          }
          return { sourceBytes }
        },
      })
    },
  }
}

/** What goes into the command line must not be taken for a flag. */
function check(suite: string, packages: readonly string[]): void {
  if (!/^[a-z0-9][a-z0-9.-]*$/i.test(suite)) {
    throw new ImageError(
      'ERR_IMAGE_SOURCE',
      `\`suite\` must be the name of a Debian suite such as 'trixie', not ${JSON.stringify(suite)}`,
    )
  }
  for (const each of packages) {
    if (/^[a-z0-9?~][^,\s]+$/i.test(each)) continue
    throw new ImageError(
      'ERR_IMAGE_PACKAGE',
      `${JSON.stringify(each)} is not the name of a package: check \`packages\` of ${suite}`,
    )
  }
}

function explained(name: string, suite: string, error: unknown): unknown {
  if (!(error instanceof ImageError) || error.code !== 'ERR_IMAGE_COMMAND') return error
  const words = String(error.cause)
  const lines = words.split('\n')
  // The first error is the reason; what follows from it, and that mmdebstrap then failed, comes behind it.
  const line = lines.find((each) => each.startsWith('E: ')) ?? lines.at(-1) ?? ''
  if (/unable to pick chroot mode|newuidmap|subuid|unshare|clone.*not permitted/i.test(words)) {
    const remedy = 'run as root, or install uidmap and give your user a range in /etc/subuid and /etc/subgid'
    return new ImageError('ERR_IMAGE_PRIVILEGE', `${name} cannot be made by this user: ${remedy} (${line})`, error)
  }
  const unknown = /Unable to locate package (\S+)/.exec(words)?.[1]
  if (unknown !== undefined) {
    return new ImageError('ERR_IMAGE_PACKAGE', `${suite} has no package ${unknown}: check \`packages\``, error)
  }
  if (/is expired \(invalid since/.test(words)) {
    const expired =
      'its mirror has not been renewed: take another `mirror`, or `checkValidUntil: false` if you know why'
    return new ImageError('ERR_IMAGE_PACKAGE', `${name} cannot be made: ${expired} (${line})`, error)
  }
  const remedy = 'check the suite, the mirror and the network, and the `customize` lines'
  return new ImageError('ERR_IMAGE_PACKAGE', `${name} cannot be made: ${remedy} (${line})`, error)
}
