export {
  type CacheEntry,
  type CacheInput,
  cachedEntry,
  cacheKey,
  canonicalJson,
  kindFolder,
  type MakeEntry,
} from './cache.ts'
export { type CpioEntry, encodeCpio } from './cpio.ts'
export { debianKernel, type DebianKernelOptions } from './debian-kernel.ts'
export { bytesDigest, fileDigest } from './digest.ts'
export { ImageError, type ImageErrorCode } from './errors.ts'
export {
  type BareInitramfs,
  bareInitramfs,
  type BareInitramfsOptions,
  type InitramfsFile,
  type InitramfsPart,
} from './initramfs.ts'
export { hostKernel, type Kernel, type KernelContext, kernelFile, type KernelSource } from './kernel.ts'
export { checkKernelImage, KERNEL_START_BYTES, type KernelImage, looksLikeKernel } from './kernel-image.ts'
export { acquireLock, type Lock, type LockOptions } from './lock.ts'
export {
  type ModulePlan,
  type ModulePlanOptions,
  type ModuleRequest,
  type PlannedModule,
  planModules,
} from './modules.ts'
export { type RootJob, buildRoot, type SourceFacts } from './build-root.ts'
export { type CleanUp, collectGarbage, removeStored, type StoredEntry, storedEntries, verifyStored } from './entries.ts'
export type {
  DirectoryOptions,
  FormatOptions,
  ImageConfig,
  ImageContext,
  ImageProgress,
  ImageSource,
  RootFormat,
  RootImage,
} from './root-image.ts'
export {
  debian,
  type DebianOptions,
  directory,
  disk,
  type DiskSourceOptions,
  oci,
  type OciOptions,
  tarball,
} from './sources/index.ts'
export {
  container,
  type ContainerOptions,
  dockerfile,
  type DockerfileOptions,
  type EngineSweep,
  type EngineSweepOptions,
  hostAddress,
  type HostAddress,
  type PublishedPorts,
  sweepEngine,
} from './docker/index.ts'
