/**
 * The fixed vocabulary of marks and stages. `schema/marks.json` and `schema/stages.json` say the same for other
 * languages, with a sentence on each; a test holds the two together.
 */

/** Who saw a mark become true. */
export const MARK_SOURCES = ['runtime', 'harness', 'console', 'qmp', 'agent', 'systemd'] as const
export type MarkSource = (typeof MARK_SOURCES)[number]

/** `host`: the host's CLOCK_MONOTONIC; `guest`: the guest's, or for source `console` the stamp that printk wrote. */
export const MARK_CLOCKS = ['host', 'guest'] as const
export type MarkClock = (typeof MARK_CLOCKS)[number]

/** Marks of users carry this prefix; no stage uses them. */
export const USER_MARK_PREFIX = 'user:'

/** Every mark id, with the source that defines it. */
export const MARKS: { readonly [id: string]: MarkSource } = {
  start: 'harness',
  'folder-ready': 'runtime',
  'image-begin': 'harness',
  'image-ready': 'harness',
  'rootfs-begin': 'harness',
  'rootfs-ready': 'harness',
  'plan-begin': 'runtime',
  'plan-ready': 'runtime',
  spawn: 'runtime',
  'engine-main': 'qmp',
  'qmp-ready': 'qmp',
  'vm-start': 'qmp',
  'kernel-first-line': 'console',
  'init-run': 'console',
  'agent-up': 'agent',
  'switch-root': 'agent',
  'agent-ready': 'agent',
  'process-ready': 'harness',
  'process-exit': 'harness',
  userspace: 'systemd',
  'security-start': 'systemd',
  'security-finish': 'systemd',
  'generators-start': 'systemd',
  'generators-finish': 'systemd',
  'units-load-start': 'systemd',
  'units-load-finish': 'systemd',
  'basic-target': 'systemd',
  'multi-user-target': 'systemd',
  'systemd-finish': 'systemd',
  'login-prompt': 'console',
  ready: 'harness',
  'first-login-begin': 'harness',
  'first-login-end': 'harness',
  'state-loaded': 'qmp',
  resumed: 'qmp',
  'agent-back': 'agent',
  'guest-panic': 'console',
  'guest-reset': 'qmp',
  'guest-shutdown': 'qmp',
  'stop-begin': 'runtime',
  'engine-exit': 'runtime',
}

/** True for a mark of the vocabulary. */
export function isKnownMark(id: string): boolean {
  return Object.hasOwn(MARKS, id)
}

/** What kind of boot a record holds; it decides which stages can be part of it. */
export const BOOT_KINDS = ['bare', 'image', 'agentless', 'firmware', 'restored'] as const
/**
 * `bare`: our initramfs alone; `image`: our stage 0, then the image's init; `agentless`: a kernel, but no agent of
 * ours, such as a disk's own boot loader starts it; `firmware`: no kernel; `restored`: started from a template.
 */
export type BootKind = (typeof BOOT_KINDS)[number]

/** Every stage id, in the order of a boot. */
export const STAGE_IDS = [
  'filesystem-setup',
  'image-prepare',
  'guest-rootfs',
  'box-config',
  'engine-exec',
  'engine-init',
  'state-load',
  'resume',
  'agent-back',
  'firmware',
  'kernel',
  'stage0',
  'pid1',
  'generators',
  'units-load',
  'basic',
  'multi-user',
  'login',
  'container-init',
  'ready',
] as const
export type StageId = (typeof STAGE_IDS)[number]

/** One stage of the vocabulary. */
export interface StageDefinition {
  readonly id: StageId
  readonly from: string
  readonly to: string
  /** Another end, for the boots named, when `to` is not one of their marks. */
  readonly elseTo?: { readonly mark: string; readonly boots: readonly BootKind[] }
  readonly source: MarkSource
  /** True when it may run beside other stages; its time then must not be added to theirs. */
  readonly parallel: boolean
  /** Which boots have it. */
  readonly boots: readonly BootKind[]
  /** True when a boot of these kinds has it only if it asked for it. */
  readonly onRequest?: boolean
}

const ALL = BOOT_KINDS
const KERNELS = ['bare', 'image', 'agentless'] as const
const COLD = ['bare', 'image', 'agentless', 'firmware'] as const

/** The stages in the order of a boot. */
export const STAGES: readonly StageDefinition[] = [
  { id: 'filesystem-setup', from: 'start', to: 'folder-ready', source: 'runtime', parallel: false, boots: ALL },
  {
    id: 'image-prepare',
    from: 'image-begin',
    to: 'image-ready',
    source: 'harness',
    parallel: true,
    boots: ['image', 'agentless', 'firmware'],
  },
  {
    id: 'guest-rootfs',
    from: 'rootfs-begin',
    to: 'rootfs-ready',
    source: 'harness',
    parallel: true,
    boots: ['bare', 'image'],
  },
  { id: 'box-config', from: 'plan-begin', to: 'plan-ready', source: 'runtime', parallel: false, boots: ALL },
  { id: 'engine-exec', from: 'spawn', to: 'engine-main', source: 'runtime', parallel: false, boots: ALL },
  { id: 'engine-init', from: 'engine-main', to: 'qmp-ready', source: 'qmp', parallel: false, boots: ALL },
  { id: 'state-load', from: 'qmp-ready', to: 'state-loaded', source: 'qmp', parallel: false, boots: ['restored'] },
  { id: 'resume', from: 'state-loaded', to: 'resumed', source: 'qmp', parallel: false, boots: ['restored'] },
  { id: 'agent-back', from: 'resumed', to: 'agent-back', source: 'agent', parallel: false, boots: ['restored'] },
  { id: 'firmware', from: 'vm-start', to: 'kernel-first-line', source: 'console', parallel: false, boots: COLD },
  { id: 'kernel', from: 'kernel-first-line', to: 'init-run', source: 'console', parallel: false, boots: KERNELS },
  {
    id: 'stage0',
    from: 'init-run',
    to: 'switch-root',
    elseTo: { mark: 'agent-up', boots: ['bare'] },
    source: 'agent',
    parallel: false,
    boots: ['bare', 'image'],
  },
  { id: 'pid1', from: 'switch-root', to: 'userspace', source: 'systemd', parallel: false, boots: ['image'] },
  {
    id: 'generators',
    from: 'generators-start',
    to: 'generators-finish',
    source: 'systemd',
    parallel: true,
    boots: ['image'],
  },
  {
    id: 'units-load',
    from: 'units-load-start',
    to: 'units-load-finish',
    source: 'systemd',
    parallel: true,
    boots: ['image'],
  },
  { id: 'basic', from: 'userspace', to: 'basic-target', source: 'systemd', parallel: true, boots: ['image'] },
  { id: 'multi-user', from: 'userspace', to: 'multi-user-target', source: 'systemd', parallel: true, boots: ['image'] },
  { id: 'login', from: 'userspace', to: 'login-prompt', source: 'console', parallel: true, boots: ['image'] },
  {
    id: 'container-init',
    from: 'agent-up',
    to: 'process-ready',
    source: 'agent',
    parallel: true,
    boots: ['image', 'bare'],
    onRequest: true,
  },
  {
    id: 'ready',
    from: 'start',
    to: 'ready',
    elseTo: { mark: 'agent-ready', boots: ALL },
    source: 'harness',
    parallel: true,
    boots: ALL,
  },
]

/**
 * Marks in an order in which each shows that all before it came, seen or not: a quiet kernel prints neither its first
 * line nor the start of init, and still has passed both when the agent is up. Those of a restore come last.
 */
export const PROGRESS: readonly string[] = [
  'start',
  'folder-ready',
  'plan-begin',
  'plan-ready',
  'spawn',
  'engine-main',
  'qmp-ready',
  'vm-start',
  'kernel-first-line',
  'init-run',
  'agent-up',
  'agent-ready',
  'switch-root',
  'userspace',
  'state-loaded',
  'resumed',
  'agent-back',
]

/** The metrics of a boot, named as BoxLite names them; each is the span between two marks, in milliseconds. */
export const METRIC_NAMES = [
  'totalCreateDurationMs',
  'stageFilesystemSetupMs',
  'stageImagePrepareMs',
  'stageGuestRootfsMs',
  'stageBoxConfigMs',
  'stageBoxSpawnMs',
  'guestBootDurationMs',
  'stageContainerInitMs',
] as const
export type MetricName = (typeof METRIC_NAMES)[number]

/** Where a metric comes from: a stage, or a span of its own that no stage has. */
export type MetricDefinition =
  | { readonly name: MetricName; readonly stage: StageId }
  | { readonly name: MetricName; readonly from: string; readonly to: string; readonly boots: readonly BootKind[] }

/** Every metric with its definition. */
export const METRICS: readonly MetricDefinition[] = [
  { name: 'totalCreateDurationMs', stage: 'ready' },
  { name: 'stageFilesystemSetupMs', stage: 'filesystem-setup' },
  { name: 'stageImagePrepareMs', stage: 'image-prepare' },
  { name: 'stageGuestRootfsMs', stage: 'guest-rootfs' },
  { name: 'stageBoxConfigMs', stage: 'box-config' },
  { name: 'stageBoxSpawnMs', from: 'spawn', to: 'qmp-ready', boots: ALL },
  { name: 'guestBootDurationMs', from: 'vm-start', to: 'agent-up', boots: ['bare', 'image'] },
  { name: 'stageContainerInitMs', stage: 'container-init' },
]
