export {
  BoxError,
  type BoxErrorDetails,
  type BoxState,
  type ClockSample,
  type EngineExit,
  type ExecExit,
  type MarkLine,
  NativeError,
  runningBoxes,
  type RunningCommand,
  type RuntimeMetrics,
  runtimeMetrics,
  type Stopped,
  type SystemdManager,
} from '@boxlab/native'
export { bootBox } from './boot-box.ts'
export { Box } from './box.ts'
export type { BoxInfo } from './box-info.ts'
export { ExecError, type ExecOptions, type ExecResult } from './exec.ts'
export {
  debianKernel,
  type DebianKernelOptions,
  hostKernel,
  ImageError,
  type Kernel,
  kernelFile,
  type KernelSource,
} from './images/index.ts'
export { type ExclusiveHost, exclusiveHost, type ExclusiveOptions, type HostLimits, limitHost } from './ledger/index.ts'
export type { BoxMetrics } from './metrics.ts'
export type { BoxOptions, DeviceOptions, DiskOptions, RecordOptions, TimeoutOptions } from './options.ts'
export { stateRoot } from './state-root.ts'
export { Wait, type WaitStrategy } from './wait/index.ts'
export {
  debian,
  type DebianOptions,
  directory,
  disk,
  type DiskSourceOptions,
  type FormatOptions,
  type ImageConfig,
  type ImageContext,
  type ImageProgress,
  type ImageSource,
  oci,
  type OciOptions,
  type RootFormat,
  type RootImage,
  tarball,
} from './images/index.ts'
export type { BoxFiles, TransferOptions } from './guest-files.ts'
export {
  container,
  type ContainerOptions,
  dockerfile,
  type DockerfileOptions,
  type EngineSweep,
  hostAddress,
  type HostAddress,
  type PublishedPorts,
  sweepEngine,
} from './images/index.ts'
