import type { CpioEntry } from './cpio.ts'
import { ImageError } from './errors.ts'

/** The guest folder that holds the modules and their order. */
export const MODULES_FOLDER = 'lib/modules/boxlab'

/** Where stage 0 finds what to do, and the tree of files that go into the image's root. */
export const STAGE0_FILE = 'boxlab/stage0.json'
export const STAGE0_ROOT = 'boxlab/root'

const RESERVED = /^(init|lib\/modules\/boxlab(\/.*)?|boxlab(\/.*)?)$/

/** A file or a link of the user's. */
export type UserFile = { readonly path: string; readonly mode: number } & (
  | { readonly data: Uint8Array }
  | { readonly link: string }
)

/** A file tree in the making; has identity because entries may replace each other until it is read. */
export class InitramfsTree {
  readonly #entries = new Map<string, CpioEntry>()

  /** Adds an entry of ours, and the directories above it. */
  add(entry: CpioEntry): void {
    const path = entry.path.replace(/^\/+/, '')
    this.#addParents(path)
    this.#entries.set(path, { ...entry, path })
  }

  /**
   * Adds a file of the user's: it may replace a file of ours, but not the agent, its modules or a directory. With `below`
   * it is one of a tree of its own, where everything is the user's.
   */
  addUserFile({ path, mode, ...file }: UserFile, below = ''): void {
    const asked = path.replace(/^\/+/, '')
    const inside = below === '' ? asked : `${below}/${asked}`
    if (!path.startsWith('/') || asked.split('/').some((part) => ['', '.', '..'].includes(part))) {
      throw refusal(path, 'its path in the guest must be absolute, without . and ..')
    }
    if (below === '' && RESERVED.test(inside)) throw refusal(path, 'that place belongs to the agent')
    if (this.#entries.get(inside)?.type === 'directory') throw refusal(path, 'there is a directory of that name')
    if ('link' in file) this.add({ type: 'symlink', path: inside, target: file.link })
    else this.add({ type: 'file', path: inside, data: file.data, mode })
  }

  /** All entries, sorted by path: so a directory comes before what is in it, and equal trees are equal bytes. */
  entries(): CpioEntry[] {
    return [...this.#entries.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1))
  }

  #addParents(path: string): void {
    for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
      const parent = path.slice(0, end)
      const known = this.#entries.get(parent)
      if (known === undefined) this.#entries.set(parent, { type: 'directory', path: parent })
      else if (known.type !== 'directory') throw refusal(`/${path}`, `/${parent} is not a directory`)
    }
  }
}

/** A tree of what every bare box has before its agent runs; the agent mounts over the empty directories. */
export function skeletonTree(): InitramfsTree {
  const directories = ['bin', 'dev', 'etc', 'lib', 'proc', 'run', 'sbin', 'sys', 'usr']
  const tree = new InitramfsTree()
  const entries: CpioEntry[] = [
    // Without it the root keeps the kernel's own mode, which lets everybody write.
    { type: 'directory', path: '.' },
    ...directories.map((path): CpioEntry => ({ type: 'directory', path })),
    { type: 'directory', path: 'root', mode: 0o700 },
    { type: 'directory', path: 'tmp', mode: 0o1777 },
    // The kernel opens /dev/console for the first process before anything is mounted.
    { type: 'device', path: 'dev/console', kind: 'char', major: 5, minor: 1, mode: 0o600 },
    { type: 'device', path: 'dev/null', kind: 'char', major: 1, minor: 3, mode: 0o666 },
    { type: 'file', path: 'etc/group', data: Buffer.from('root:x:0:\n') },
    { type: 'file', path: 'etc/passwd', data: Buffer.from('root:x:0:0:root:/root:/bin/sh\n') },
  ]
  for (const entry of entries) tree.add(entry)
  return tree
}

function refusal(path: string, reason: string): ImageError {
  return new ImageError('ERR_IMAGE_FILE', `The file ${path} cannot be put into the box: ${reason}`)
}
