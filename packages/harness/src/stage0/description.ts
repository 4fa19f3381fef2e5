/** A file system on a virtio disk, as stage 0 finds it. */
export interface Stage0Disk {
  /** The disk's serial number: its id in the plan. */
  readonly serial: string
  /** The kernel's name of the file system; absent where only the disk itself tells. */
  readonly filesystem?: 'ext4' | 'erofs'
}

/** A folder of the host, as stage 0 finds it. */
export interface Stage0Share {
  /** The tag of its device: its id in the plan. */
  readonly tag: string
}

/** What the agent does between the kernel and the image's init (`crates/protocol/src/stage0.rs`). */
export interface Stage0 {
  readonly root: Stage0Disk | Stage0Share
  /** Writes go to memory; otherwise the root is mounted writable, on a layer of the engine's that is thrown away. */
  readonly overlay: boolean
  /** The kernel's modules, for a root that has none of this release. */
  readonly modules?: Stage0Disk
  /** The image's init; without one the agent stays process 1. */
  readonly init?: string
  /** The agent records the jobs of systemd, from before the first one runs. */
  readonly recordJobs?: boolean
}
