import { ImageError } from '../errors.ts'
import { printable, type ReadTarOptions, readTar, type TarEntry } from '../tar/read-tar.ts'
import { follow } from './follow.ts'
import { type DirectoryNode, type NodeMeta, plainDirectory, type TreeNode } from './node.ts'
import type { Spool } from './spool.ts'

/** How one archive becomes part of a tree. */
export interface LayerOptions extends ReadTarOptions {
  /** Whether `.wh.` names take away what layers below put there (OCI image specification, layer.md). Default false. */
  readonly whiteouts?: boolean
  readonly signal?: AbortSignal | undefined
}

const WHITEOUT = '.wh.'
const OPAQUE = '.wh..wh..opq'
// NAME_MAX and PATH_MAX of Linux: a guest could not even name what is longer.
const NAME_LIMIT_BYTES = 255
const PATH_LIMIT_BYTES = 4095

/**
 * A tree out of archives, each laid over those before. The archives are never unpacked on the host: a path has a meaning
 * in this tree alone, so that none can lead out of it. One that tries to is refused, since its author meant another tree.
 */
export class TreeBuilder {
  readonly root: DirectoryNode = plainDirectory()
  readonly #spool: Spool
  /** The layer that last said something of a name; not of a node, which may have names from several layers. */
  readonly #layerOf = new WeakMap<DirectoryNode, Map<string, number>>()
  #layer = 0

  constructor(spool: Spool) {
    this.#spool = spool
  }

  /** Lays one archive over the tree. Fails with ERR_IMAGE_ARCHIVE; the tree is of no use then. */
  async addLayer(chunks: AsyncIterable<Uint8Array>, options: LayerOptions): Promise<void> {
    this.#layer += 1
    for await (const entry of readTar(chunks, options)) {
      options.signal?.throwIfAborted()
      await this.#addEntry(entry, options)
    }
  }

  async #addEntry(entry: TarEntry, options: LayerOptions): Promise<void> {
    const refuse = (what: string): ImageError =>
      new ImageError('ERR_IMAGE_ARCHIVE', `${options.name} holds ${printable(entry.path)}, ${what}`)
    const parts = partsOf(entry.path, refuse)
    const name = parts.pop()
    if (name === undefined) {
      if (entry.type !== 'directory') throw refuse('which names the root itself and is no directory: make it again')
      Object.assign(this.root, metaOf(entry))
      return
    }
    const parent = this.#parent(parts, refuse)
    if (options.whiteouts && name === OPAQUE) this.#removeLower(parent)
    else if (options.whiteouts && name.startsWith(WHITEOUT)) {
      this.#whiteOut(parent, name.slice(WHITEOUT.length), refuse)
    } else this.#put(parent, name, await this.#node(entry, parent.children.get(name), refuse))
  }

  async #node(entry: TarEntry, before: TreeNode | undefined, refuse: Refuse): Promise<TreeNode> {
    const meta = metaOf(entry)
    switch (entry.type) {
      case 'directory':
        // One that is there keeps what is in it, and takes the newer description.
        if (before?.kind === 'directory') return Object.assign(before, meta)
        return { kind: 'directory', children: new Map(), ...meta }
      case 'file':
        return { kind: 'file', content: await this.#spool.add(entry.pieces, entry.size), ...meta }
      case 'symlink':
        if (entry.link === '' || entry.link.length > PATH_LIMIT_BYTES) {
          throw refuse('a symbolic link whose target is empty or longer than 4095 bytes: make it again')
        }
        return { kind: 'symlink', target: entry.link, ...meta, mode: 0o777 }
      case 'char':
      case 'block':
        return { kind: entry.type, major: entry.major, minor: entry.minor, ...meta }
      case 'fifo':
        return { kind: 'fifo', ...meta }
      default:
        return this.#linkTarget(entry.link, refuse)
    }
  }

  #linkTarget(link: string, refuse: Refuse): TreeNode {
    const shown = printable(link)
    const parts = partsOf(link, () => refuse(`a hard link to ${shown}, which leads out of the archive: do not use it`))
    let node: TreeNode | undefined = this.root
    for (const part of parts) node = node?.kind === 'directory' ? node.children.get(part) : undefined
    if (node === undefined) {
      throw refuse(
        `a hard link to ${shown}, which is not in it: what is outside is never linked; add it to the archive`,
      )
    }
    if (node.kind === 'directory') throw refuse(`a hard link to the directory ${shown}: make it again`)
    return node
  }

  /**
   * The directory of a path, made where nothing described it. A layer may put things below a link of a layer under it, as
   * where `/lib` had become a link to `usr/lib`: it is followed inside the tree, as container runtimes do. But no real tree
   * has something below a link of its own.
   */
  #parent(parts: readonly string[], refuse: Refuse): DirectoryNode {
    let through = ''
    const { directory, rest, escaped } = follow(this.root, parts, (link, above, name) => {
      through = `which lies below the symbolic link to ${printable(link.target)}`
      if (this.#isOfThisLayer(above, name)) {
        throw refuse(`${through} of the same archive, so that it could lead out of it: do not use it`)
      }
    })
    if (escaped) throw refuse(`${through}, and that leads out of the tree: do not use it`)
    if (through !== '' && rest.length > 0) throw refuse(`${through}, and no directory is there: make it again`)
    // As in every layered file system, what was no directory gives way to one.
    return rest.reduce((above, name) => {
      const made = plainDirectory()
      this.#put(above, name, made)
      return made
    }, directory)
  }

  #whiteOut(directory: DirectoryNode, name: string, refuse: Refuse): void {
    if (name === '' || name === '.' || name === '..') throw refuse('which takes away no name: make it again')
    this.#takeAway(directory, name)
  }

  /** Takes away what is in a directory from layers below, wherever in the layer its mark stands. */
  #removeLower(directory: DirectoryNode): void {
    for (const name of directory.children.keys()) this.#takeAway(directory, name)
  }

  /** Removes a name and all below it, apart from what this layer itself put there. */
  #takeAway(directory: DirectoryNode, name: string): void {
    const node = directory.children.get(name)
    if (node?.kind === 'directory') this.#removeLower(node)
    const stays = this.#isOfThisLayer(directory, name) || (node?.kind === 'directory' && node.children.size > 0)
    if (!stays) directory.children.delete(name)
  }

  #put(directory: DirectoryNode, name: string, node: TreeNode): void {
    directory.children.set(name, node)
    let layers = this.#layerOf.get(directory)
    if (layers === undefined) this.#layerOf.set(directory, (layers = new Map<string, number>()))
    layers.set(name, this.#layer)
  }

  #isOfThisLayer(directory: DirectoryNode, name: string): boolean {
    return this.#layerOf.get(directory)?.get(name) === this.#layer
  }
}

type Refuse = (what: string) => ImageError

function metaOf({ mode, uid, gid, mtimeNs, xattrs }: TarEntry): NodeMeta {
  return { mode, uid, gid, mtimeNs, xattrs }
}

/** The names of a path. A leading slash and `.` mean nothing here, as for every tar; `..` is refused. */
function partsOf(path: string, refuse: Refuse): string[] {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw refuse('which leads out of the archive with `..`: do not use it')
  if (parts.some((part) => part.length > NAME_LIMIT_BYTES || part.includes('\0'))) {
    throw refuse('a name that is longer than 255 bytes, which Linux cannot hold: shorten it')
  }
  if (parts.join('/').length > PATH_LIMIT_BYTES) throw refuse('a path longer than 4095 bytes: shorten it')
  return parts
}
