export { BoxError, type BoxErrorDetails, describeFailure, type EngineExit, NativeError } from './errors.ts'
export { type ExecExit, type ExecRequest, type RunningCommand, signalName } from './exec.ts'
export {
  fileSha256,
  hostTscKhz,
  type KvmPreflight,
  kvmPreflight,
  runningBoxes,
  type RuntimeMetrics,
  runtimeMetrics,
} from './host.ts'
export { agentPath, native } from './loader.ts'
export { type BoxState, type ClockSample, Machine, type MarkLine, type Stopped, type Usage } from './machine.ts'
export type { Accelerator, BootPlan, DevicePlan, DiskPlan } from './plan.ts'
