export {
  BoxError,
  type BoxErrorDetails,
  describeFailure,
  type DetailChanges,
  type EngineExit,
  type FailureSubject,
  NativeError,
  type ReachedMark,
} from './errors.ts'
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
export {
  type Asked,
  type Claim,
  defaultMemoryMib,
  ledgerEntries,
  type LedgerEntry,
  type LedgerLimits,
  Turn,
} from './ledger.ts'
export { agentPath, native } from './loader.ts'
export {
  type BoxOrder,
  type BoxState,
  type ClockSample,
  Machine,
  type MarkLine,
  type Stopped,
  type Usage,
} from './machine.ts'
export type { Accelerator, BootPlan, DevicePlan, DiskPlan } from './plan.ts'
export { type SystemdManager, type SystemdText, type SystemdUnit, Watch } from './systemd.ts'
