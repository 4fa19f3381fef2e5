import { describe, expect, test } from 'vitest'
import { findVirtiofsd, virtiofsdPlan } from '../../src/images/virtiofsd.ts'
import { imageError } from './roots/refusal.ts'

// What `--help` says, in part: QEMU's of 7.2, the one in Rust of 1.10 and of 1.13.
const ofQemu = '    -o source=PATH             shared directory tree\n    --fd=FDNUM                 fd number\n'
const ofRust = '      --shared-dir <SHARED_DIR>\n      --announce-submounts\n      --no-announce-submounts\n'
const laterOfRust = `${ofRust}      --readonly\n`

const root = { isRoot: true, mayMount: true }
const user = { isRoot: false, mayMount: false }
const planned = (help: string, who: typeof root): ReturnType<typeof virtiofsdPlan> =>
  virtiofsdPlan('/a,b', '/v', help, who)

describe('what serves a folder', () => {
  test('is asked in its own words, and root keeps it from writing by its mounts', () => {
    const ofC = 'source=/a\\,b sandbox=chroot xattr posix_acl cache=always log_level=warn'
    const args = ofC.split(' ').flatMap((setting) => ['-o', setting])
    expect(planned(ofQemu, root)).toEqual({ binary: '/v', args, readonlyMounts: true })
    expect(planned(ofRust, root)).toEqual({
      binary: '/v',
      args: [
        '--shared-dir=/a,b',
        '--sandbox=chroot',
        '--posix-acl',
        '--cache=always',
        '--log-level=warn',
        '--no-announce-submounts',
      ],
      readonlyMounts: true,
    })
  })

  test('keeps itself from writing where nobody else can, or is refused', () => {
    const { args, readonlyMounts } = planned(laterOfRust, user)
    expect([args[1], args.at(-1), readonlyMounts]).toEqual(['--sandbox=namespace', '--readonly', false])
    for (const help of [ofQemu, ofRust]) {
      expect(() => planned(help, user)).toThrow(
        /^\/v cannot keep a guest from writing to the folder \/a,b without the right to mount \(CAP_SYS_ADMIN\): run as root, install virtiofsd 1\.13/,
      )
    }
    // Root in a container, say.
    expect(planned(laterOfRust, { isRoot: true, mayMount: false }).args).toContain('--sandbox=chroot')
  })

  test('is found where distributions have it', async () => {
    expect(await findVirtiofsd('/srv')).toMatchObject({
      binary: expect.stringMatching(/\/virtiofsd$/) as string,
      args: expect.arrayContaining([expect.stringContaining('/srv')]) as string[],
    })
  })

  test('that is not there is one sentence with the remedy', async () => {
    const path = process.env['PATH']
    process.env['PATH'] = '/nowhere'
    const found = findVirtiofsd('/srv', { folders: [] }).finally(() => (process.env['PATH'] = path))
    await expect(found).rejects.toEqual(
      imageError(
        'ERR_IMAGE_TOOL_MISSING',
        /^virtiofsd is not installed, and the folder \/srv cannot be shared without it: install it/,
      ),
    )
  })
})
