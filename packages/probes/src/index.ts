export type { Cause, CauseEvidence, CauseId } from './cause/cause.ts'
export type { BootEvidence, EngineExit, HostMemory } from './cause/evidence.ts'
export { likelyCause, likelyCauses } from './cause/likely-cause.ts'

export type { AsyncByteInput, ByteInput, NamedInput } from './input/byte-input.ts'
export type { Diagnostic, DiagnosticName } from './input/diagnostics.ts'
export {
  type ItemReader,
  type JsonLines,
  type JsonLinesOptions,
  readJsonLines,
  readJsonLinesFrom,
} from './input/json-lines.ts'
export { LINE_CAP_BYTES } from './input/line-splitter.ts'

export { type AllowedBy, type AllowEntry, type UnusedAllow } from './kernel/allow.ts'
export {
  type ConsoleFinding,
  type ConsoleOptions,
  type ConsoleReport,
  type ConsoleScan,
  findConsoleProblems,
  findConsoleProblemsIn,
  scanConsole,
} from './kernel/clean-console.ts'
export { type ConsoleProblem } from './kernel/collect-problems.ts'
export {
  compareInitcalls,
  type ComparedSide,
  type InitcallsCompareOptions,
  type InitcallsComparison,
  type MovedCall,
} from './kernel/initcalls/compare.ts'
export { drawInitcalls } from './kernel/initcalls/draw.ts'
export { initcalls, initcallsIn, type InitcallsOptions } from './kernel/initcalls/initcalls.ts'
export type { InitcallsDiagnostic, InitcallsDiagnosticName } from './kernel/initcalls/initcalls-diagnostics.ts'
export {
  initcallsComparisonJson,
  type InitcallsComparisonJson,
  initcallsJson,
  type InitcallsJson,
  initcallsOverBootsJson,
  type InitcallsOverBootsJson,
} from './kernel/initcalls/initcalls-json.ts'
export type {
  Fixup,
  Initcall,
  InitcallClock,
  InitcallGap,
  InitcallLevel,
  InitcallsDiagnostics,
  InitcallsFinding,
  InitcallsReport,
  InitcallsResult,
  InitcallsSummary,
  KernelPanic,
  NoDuration,
  NoInitcalls,
  Probe,
  ProbeOutcome,
  TimeSource,
} from './kernel/initcalls/initcalls-report.ts'
export { type CallOverBoots, initcallsOverBoots, type InitcallsOverBoots } from './kernel/initcalls/over-boots.ts'
export { type InitcallsRenderOptions, renderInitcalls } from './kernel/initcalls/render.ts'
export { renderInitcallsComparison, renderInitcallsOverBoots } from './kernel/initcalls/render-boots.ts'
export type { GraphColumn } from './kernel/graph/columns.ts'
export type { CpuShare } from './kernel/graph/cpu-share.ts'
export type { GraphFinding, GraphFindingName } from './kernel/graph/findings.ts'
export { drawGraph, graphStacks } from './kernel/graph/flame.ts'
export { graph } from './kernel/graph/graph.ts'
export type { GraphDiagnostic, GraphDiagnosticName } from './kernel/graph/graph-diagnostics.ts'
export { graphJson, type GraphJson } from './kernel/graph/graph-json.ts'
export type {
  GraphDiagnostics,
  GraphReport,
  GraphResult,
  GraphSpan,
  GraphSummary,
  NoGraph,
  UnopenedSpan,
} from './kernel/graph/graph-report.ts'
export { graphPerfetto, type PerfettoEvent } from './kernel/graph/perfetto.ts'
export { type GraphRenderOptions, renderGraph } from './kernel/graph/render.ts'
export type { GraphFunction, GraphNode } from './kernel/graph/tree.ts'
export type { EmptyReason } from './kernel/graph/why-empty.ts'
export { parsePrintk, type PrintkLine } from './kernel/printk.ts'
export { type ConsoleProblemKind } from './kernel/problem-wordings.ts'
export { asDisplayText, plainText } from './kernel/terminal.ts'

export { type Ablation, ablation, type AblationRow, renderAblation } from './kvm/ablation.ts'
export type { AbsentCounter } from './kvm/absent.ts'
export type { ExitsDiagnostic, ExitsDiagnosticName } from './kvm/diagnostics.ts'
export {
  exits,
  type ExitsDiagnostics,
  type ExitsOptions,
  type ExitsReport,
  type ExitsResult,
  type NoExits,
  type Sampling,
} from './kvm/exits.ts'
export { exitsJson, type ExitsJson } from './kvm/exits-json.ts'
export type { ExitsFinding } from './kvm/findings.ts'
export {
  DETERMINISTIC_KINDS,
  EXIT_KIND_NAMES,
  EXIT_KINDS,
  type ExitKind,
  type ExitsByKind,
  type FaultName,
  type FaultsByOutcome,
} from './kvm/kinds.ts'
export { type CounterRange, exitsOverBoots, type ExitsOverBoots, type PhaseOverBoots } from './kvm/over-boots.ts'
export type { ExitsPhase, RamMapping, VcpuExits } from './kvm/phases.ts'
export type { ReasonCount, ReasonTable } from './kvm/read-reasons.ts'
export { type ExitsRenderOptions, renderExits } from './kvm/render.ts'
export type { StatSchema, StatsSample, StatType, StatUnit, StatValue, StatValues, VcpuStats } from './kvm/stats.ts'
export { readStats, type StatsReading } from './kvm/tokenize.ts'

export { bootTimeline, type RecordParts } from './timeline/analyse.ts'
export { diagnosticLine } from './timeline/captions.ts'
export { consoleFacts, type ConsoleFacts } from './timeline/console-facts.ts'
export { type Instant } from './timeline/model.ts'
export { type BootReading, readBoot, RECORD_VERSION } from './timeline/read-boot.ts'
export type { BootRecord, ClockSample, HostFacts, MarkLine, Outcome } from './timeline/record.ts'
export { type RecordFiles, timelineOfRecord } from './timeline/record-timeline.ts'
export { renderStageTable, type RenderOptions } from './timeline/render.ts'
export { includesKind } from './timeline/stages.ts'
export type {
  AbsentStage,
  BoxFacts,
  ClockResult,
  Death,
  Ending,
  Gap,
  MarkResult,
  MarkUse,
  Measure,
  ReachedStage,
  StageResult,
  Timeline,
  TimelineFinding,
} from './timeline/timeline.ts'
export { timelineJson, type TimelineJson } from './timeline/timeline-json.ts'
export { readClock, readClockSample, readMarkLine, readMarks } from './timeline/tokenize.ts'
export {
  BOOT_KINDS,
  type BootKind,
  isKnownMark,
  type MarkClock,
  MARK_CLOCKS,
  MARK_SOURCES,
  MARKS,
  type MarkSource,
  METRIC_NAMES,
  type MetricName,
  METRICS,
  type MetricDefinition,
  STAGE_IDS,
  type StageDefinition,
  type StageId,
  STAGES,
  USER_MARK_PREFIX,
} from './timeline/vocabulary.ts'

export type { AbsentFunctions, ConfigDevice, ConfigSpace, ReadsWrites } from './qemu/mmio/config-space.ts'
export { mmio, mmioFrom, type MmioOptions } from './qemu/mmio/mmio.ts'
export { mmioJson, type MmioJson } from './qemu/mmio/mmio-json.ts'
export { BOOT_CUTS, type PhaseCut } from './qemu/mmio/phases.ts'
export type { Polled } from './qemu/mmio/polled.ts'
export { type MmioRenderOptions, renderMmio } from './qemu/mmio/render.ts'
export type {
  AddressRow,
  Hidden,
  MmioDiagnostics,
  MmioFinding,
  MmioReport,
  MmioResult,
  NoMmio,
  PhaseRow,
  QueueNotifies,
  RegionKind,
  RegionRow,
  RunExits,
  TraceFormat,
  VfioRow,
  VirtioMmioRow,
} from './qemu/mmio/report.ts'
export { type MemoryMap, type Owner, readMemoryMap } from './qemu/mtree/owners.ts'
export type { FlatRange } from './qemu/mtree/flat-view.ts'
export type { PciDevice } from './qemu/mtree/pci-devices.ts'
export { type ConfigEvent, readConfigEvent } from './qemu/trace/config-event.ts'
export { ACCESS_EVENTS, OTHER_EVENTS, type OtherEventName } from './qemu/trace/events.ts'
export { exitName, readRunExit } from './qemu/trace/kvm-events.ts'
export type { RegionAccess } from './qemu/trace/region-access.ts'
export {
  type TokenizeOptions,
  tokenizeTrace,
  type TraceFacts,
  type TraceSink,
  type TraceTokenizer,
} from './qemu/trace/tokenize.ts'
export type { TraceDiagnostic, TraceDiagnosticName } from './qemu/trace/trace-diagnostics.ts'

export { drawSshFirst } from './ssh/draw.ts'
export type { SshEvidence } from './ssh/evidence.ts'
export type { SshRefusalCause } from './ssh/refusal-words.ts'
export { renderSshFirst, type SshFirstRenderOptions } from './ssh/render.ts'
export type {
  JobsHole,
  NoSshFirst,
  SshFinding,
  SshFirst,
  SshFirstResult,
  SshJob,
  SshLogin,
  SshRefused,
} from './ssh/report.ts'
export { sshFirst, type SshFirstInput } from './ssh/ssh-first.ts'
export { sshFirstJson, type SshFirstJson } from './ssh/ssh-first-json.ts'
export { readSsh, readSshLine, SSH_EVENTS, SSH_FILE, type SshEvent, type SshLine } from './ssh/ssh-lines.ts'

export { fewestForPercentile, median, percentile } from './stats/sample.ts'
export {
  fewestForInterval,
  MAX_SIGNED_RANK_VALUES,
  pairedShift,
  type Shift,
  type ShiftInterval,
  signedRankDistribution,
  signedRankP,
} from './stats/signed-rank.ts'

export type { Dispatch } from './systemd/jobs/analyse/dispatch.ts'
export type { JobsFinding } from './systemd/jobs/analyse/findings.ts'
export type { SignalLag } from './systemd/jobs/analyse/lag.ts'
export { jobs, jobsBetween } from './systemd/jobs/jobs.ts'
export type { JobsDiagnostic, JobsDiagnosticName } from './systemd/jobs/jobs-diagnostics.ts'
export { jobsJson, type JobsJson } from './systemd/jobs/jobs-json.ts'
export type {
  Interval,
  Job,
  JobsDiagnostics,
  JobsOptions,
  JobsReport,
  JobsResult,
  NoJobs,
  QueueDepth,
  StartupFinished,
} from './systemd/jobs/jobs-report.ts'
export type { Contradiction, SaidRelations } from './systemd/jobs/model/add-snapshots.ts'
export type { JobSource, JobState } from './systemd/jobs/model/job-life.ts'
export type { DepthStep, Hole, ReloadWindow } from './systemd/jobs/model/play-recording.ts'
export { type JobsRenderOptions, renderJobs } from './systemd/jobs/render.ts'
export type { JobType, QueuedState } from './systemd/jobs/words.ts'
export { drawJobs } from './systemd/jobs/draw.ts'
export { describeStuck, type StuckJob, stuckQueue, type StuckQueue } from './systemd/jobs/stuck.ts'

export type { Behind } from './systemd/waits/behind.ts'
export { type ConsolePrompt, consolePrompt } from './systemd/waits/console-prompt.ts'
export { drawWaits } from './systemd/waits/draw.ts'
export type { WaitsFinding } from './systemd/waits/blind-spots.ts'
export type { IdleGap } from './systemd/waits/idle-gaps.ts'
export type { IdleEnd, PathPart, Tie } from './systemd/waits/path.ts'
export type { PhaseName } from './systemd/waits/phases.ts'
export type { NotWaitedFor, NotWaitedReason } from './systemd/waits/predecessors.ts'
export type { LoginPrompt } from './systemd/waits/prompt.ts'
export { readSystemd, type SystemdReading } from './systemd/read/read-systemd.ts'
export type { Problem } from './input/problems.ts'
export type { ReadingDiagnostic, ReadingDiagnosticName } from './systemd/read/reading-diagnostics.ts'
export { renderWaits, type WaitsRenderOptions } from './systemd/waits/render.ts'
export type { Slack } from './systemd/waits/slack.ts'
export { waits, waitsOf } from './systemd/waits/waits.ts'
export { waitsJson, type WaitsJson } from './systemd/waits/waits-json.ts'
export type {
  NoWaits,
  PathUnit,
  WaitsDiagnostics,
  WaitsOptions,
  WaitsReport,
  WaitsResult,
} from './systemd/waits/waits-report.ts'
