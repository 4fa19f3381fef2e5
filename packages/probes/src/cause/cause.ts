/** What a box may have failed of. */
export type CauseId =
  | 'no-kvm'
  | 'port-or-file-busy'
  | 'disk-full'
  | 'no-host-memory'
  | 'engine-oom-killed'
  | 'missing-file'
  | 'not-a-kernel'
  | 'bad-engine-option'
  | 'wrong-architecture'
  | 'emulated-kvm'
  | 'guest-oom'
  | 'missing-driver'
  | 'no-init'
  | 'no-root'
  | 'guest-panic'
  | 'guest-oops'
  | 'emergency-shell'
  | 'tcg-slow'
  | 'silent-console'

/** The line or the fact that a cause rests on. */
export interface CauseEvidence {
  readonly source: 'console' | 'engine-log' | 'host-log' | 'message' | 'fact'
  /** The line without prefix and escape codes, or the fact in words. */
  readonly text: string
  /** The line's number, from 1; absent for a message and a fact. */
  readonly line?: number
}

/** What most likely happened. */
export interface Cause {
  readonly id: CauseId
  /** `said`: a program said so itself. `inferred`: facts that have this explanation, though they may have another. */
  readonly confidence: 'said' | 'inferred'
  /** What most likely happened, in one sentence. */
  readonly sentence: string
  readonly evidence: CauseEvidence
  /** What to do, in one sentence. */
  readonly remedy: string
}
