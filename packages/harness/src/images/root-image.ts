/** The forms that a root file system can have. */
export type RootFormat = 'ext4' | 'erofs' | 'initramfs'

/** Something that happens while an image is made. */
export interface ImageProgress {
  /** The source's name, such as `oci localhost:5000/web:1`. */
  readonly source: string
  /** Each begins with an event of its own; `rename` is the last moment before the image is in the cache. */
  readonly step: 'fetch' | 'unpack' | 'format' | 'rename'
  /** Bytes of this step so far, where they are known. */
  readonly doneBytes?: number
  readonly totalBytes?: number
  /** What is worked on: a layer, a suite, a line of a tool. */
  readonly detail?: string
}

/** Where images are kept, and who looks on. */
export interface ImageContext {
  /** The root that holds `images/`. */
  readonly cacheRoot: string
  readonly signal?: AbortSignal | undefined
  readonly progress?: (event: ImageProgress) => void
}

/** Where an image comes from; nothing happens before `resolve`. */
export interface ImageSource {
  readonly name: string
  /** Gives the image, made now or found in the cache. Fails with an ImageError. */
  resolve(context: ImageContext): Promise<RootImage>
}

/** What an OCI image says of the process that it was made for. */
export interface ImageConfig {
  readonly env: Readonly<Record<string, string>>
  readonly user?: string
  readonly workdir?: string
  readonly entrypoint?: readonly string[]
  readonly cmd?: readonly string[]
}

/** An image that a box can have as its root. */
export interface RootImage {
  /** Absolute path. Never written to: a box writes into an overlay. */
  readonly path: string
  readonly format: RootFormat | 'virtiofs' | 'raw' | 'qcow2'
  /**
   * `sha256:…` over what the guest sees (its tree), or over the disk's file. Of a folder (virtiofs) over what lstat(2) says
   * of all in it, just before the boot: equal digests are the same unchanged folder, another one may hold the same.
   */
  readonly digest: string
  /** Size of the file; what it takes on the host's disk may be less. Of a folder the sum of its files. */
  readonly bytes: number
  /** Size of what it was made from, where that is known. */
  readonly sourceBytes?: number
  /** As `uname -m` says it there: x86_64, aarch64, … From the OCI configuration, else from a program in the tree. */
  readonly architecture?: string
  /** Whether an init is there and executable. Of a raw disk: whether it has partitions, or a file system with one; of qcow2: true. */
  readonly hasInit: boolean
  /** Where that init is: the first of /sbin/init, /lib/systemd/systemd, /usr/lib/systemd/systemd, /init. Not of a disk. */
  readonly init?: string
  readonly config?: ImageConfig
  /** Whether it was in the cache already. */
  readonly cached: boolean
}

/** What every source that makes a file system takes. */
export interface FormatOptions {
  /** Default 'ext4'. 'initramfs' holds no xattrs; 'erofs' needs mkfs.erofs and root. */
  readonly format?: RootFormat
  /** Room in an ext4 image for a box that mounts it for writing. Default 0: boxes write into an overlay. */
  readonly freeMib?: number
}

/** How `directory()` comes into a box. */
export type DirectoryOptions =
  | FormatOptions
  /** Nothing is built: the folder itself is what the guest reads, through the host's virtiofsd. */
  | { readonly format: 'virtiofs' }

/** Only what says how an image is written. */
export function formatOptions({ format, freeMib }: FormatOptions): FormatOptions {
  return { ...(format !== undefined && { format }), ...(freeMib !== undefined && { freeMib }) }
}
