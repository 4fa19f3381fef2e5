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

/** Where an init is, the first one counts. */
export const INITS: readonly string[] = ['sbin/init', 'lib/systemd/systemd', 'usr/lib/systemd/systemd', 'init']
/** Where the program that tells the architecture is looked for first. */
export const PROGRAMS: readonly string[] = [
  ...INITS,
  'bin/sh',
  'bin/busybox',
  'usr/bin/env',
  'lib64/ld-linux-x86-64.so.2',
]

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
    if (anyMachine === undefined && isExecutable(node)) anyMachine = machineOf(node)
  }
  const known = PROGRAMS.map((path) => machineOf(follow(root, path.split('/')).node))
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

function machineOf(node: TreeNode | undefined): string | undefined {
  return node?.kind === 'file' ? elfMachine(node.content.start) : undefined
}

/** As much of a file as `elfMachine` reads. */
export const ELF_START_BYTES = 20

/**
 * The architecture of a program by the beginning of its file, as `uname -m` says it there; undefined where it is none: magic,
 * then class and byte order in bytes 4 and 5, e_machine at 18 (elf(5)).
 */
export function elfMachine(start: Buffer): string | undefined {
  if (start.length < ELF_START_BYTES || start.readUInt32BE(0) !== 0x7f454c46) return undefined
  const number = start[5] === 2 ? start.readUInt16BE(18) : start.readUInt16LE(18)
  return MACHINES[number] ?? `elf-${number}`
}
