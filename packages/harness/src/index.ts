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
export type {
  Initcall,
  InitcallsReport,
  InitcallsResult,
  ExitsReport,
  ExitsResult,
  GraphReport,
  GraphResult,
  GraphSpan,
  Job,
  JobsOptions,
  JobsReport,
  JobsResult,
  WaitsOptions,
  WaitsReport,
  WaitsResult,
} from '@boxlab/probes'
export { bootBox } from './boot-box.ts'
export type { InitcallsCall, SystemdCall } from './box-probes.ts'
export { Box } from './box.ts'
export type { BoxInfo } from './box-info.ts'
export { ExecError, type ExecOptions, type ExecResult } from './exec.ts'
export {
  container,
  type ContainerOptions,
  debian,
  debianKernel,
  type DebianKernelOptions,
  type DebianOptions,
  directory,
  type DirectoryOptions,
  disk,
  type DiskSourceOptions,
  dockerfile,
  type DockerfileOptions,
  type EngineSweep,
  type EngineSweepOptions,
  type FormatOptions,
  type HostAddress,
  hostAddress,
  hostKernel,
  type ImageConfig,
  type ImageContext,
  ImageError,
  type ImageProgress,
  type ImageSource,
  type Kernel,
  kernelFile,
  type KernelSource,
  oci,
  type OciOptions,
  type PublishedPorts,
  type RootFormat,
  type RootImage,
  sweepEngine,
  tarball,
} from './images/index.ts'
export { readInitcalls } from './initcalls/kernel-log.ts'
export { bootTraceCmdline } from './graph/tracefs.ts'
export { type ExclusiveHost, exclusiveHost, type ExclusiveOptions, type HostLimits, limitHost } from './ledger/index.ts'
export type { BoxMetrics } from './metrics.ts'
export type {
  BoxOptions,
  CounterOptions,
  DeviceOptions,
  DiskOptions,
  RecordOptions,
  TimeoutOptions,
} from './options.ts'
export { readExits } from './reports/record-exits.ts'
export { readSshFirst } from './reports/record-ssh-first.ts'
export type { SshFirstOptions } from './ssh/options.ts'
export { stateRoot } from './state-root.ts'
export { Wait, type WaitStrategy } from './wait/index.ts'
export type { BoxFiles, TransferOptions } from './guest-files.ts'
