import { follow } from './follow.ts'
import { type DirectoryNode, type TreeNode, walkTree } from './node.ts'

/** What a boot needs to know of a tree before it starts. */
export interface TreeFacts {
  /** Names, hard links counted each. */
  readonly entries: number
  /** Bytes of all files, holes and each hard link's content counted once. */
  readonly contentBytes: number
  /** As the kernel calls it (`uname -m`); absent where no program is in the tree. */
  readonly architecture?: string
  /** Absolute path of the first init that is there and executable, links not resolved. */
  readonly init?: string
}

const INITS = ['sbin/init', 'lib/systemd/systemd', 'usr/lib/systemd/systemd', 'init']
/** Where the program that tells the architecture is looked for first. */
const PROGRAMS = [...INITS, 'bin/sh', 'bin/busybox', 'usr/bin/env', 'lib64/ld-linux-x86-64.so.2']

/** ELF machine numbers (elf.h, e_machine) by what `uname -m` says there. */
const MACHINES: Readonly<Record<number, string>> = {
  3: 'i686',
  21: 'ppc64le',
  22: 's390x',
  40: 'armv7l',
  62: 'x86_64',
  183: 'aarch64',
  243: 'riscv64',
  258: 'loongarch64',
}

/** Looks a tree over. */
export function treeFacts(root: DirectoryNode): TreeFacts {
  const seen = new Set<TreeNode>()
  let entries = 0
  let contentBytes = 0
  let anyMachine: string | undefined
  for (const { node } of walkTree(root)) {
    entries += 1
    if (seen.has(node) || node.kind !== 'file') continue
    seen.add(node)
    contentBytes += node.content.size
    if (anyMachine === undefined && isExecutable(node)) anyMachine = elfMachine(node)
  }
  const known = PROGRAMS.map((path) => elfMachine(follow(root, path.split('/')).node))
  const init = INITS.find((path) => isExecutable(follow(root, path.split('/')).node))
  const architecture = known.find((machine) => machine !== undefined) ?? anyMachine
  return {
    entries,
    contentBytes,
    ...(architecture !== undefined && { architecture }),
    ...(init !== undefined && { init: `/${init}` }),
  }
}

function isExecutable(node: TreeNode | undefined): boolean {
  return node?.kind === 'file' && (node.mode & 0o111) !== 0 && node.content.size > 0
}

/** Magic, then class and byte order in bytes 4 and 5, e_machine at 18 (elf(5)). */
function elfMachine(node: TreeNode | undefined): string | undefined {
  if (node?.kind !== 'file') return undefined
  const { start } = node.content
  if (start.length < 20 || start.readUInt32BE(0) !== 0x7f454c46) return undefined
  const number = start[5] === 2 ? start.readUInt16BE(18) : start.readUInt16LE(18)
  return MACHINES[number] ?? `elf-${number}`
}
