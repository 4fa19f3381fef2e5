import { type CauseRule, fact } from './rule.ts'

/** A guest that showed a sign of life this shortly before the deadline was slow; one that did not may have hung. */
export const LIVELY_MS = 5000
/** And within this part of its whole time: before a deadline of seconds everything was a few seconds ago. */
const LIVELY_PART = 0.5

/** Causes that only facts about time suggest; they come last. */
export const PROGRESS_RULES: readonly CauseRule[] = [
  {
    id: 'emulated-kvm',
    source: 'the preflight and QMP query-kvm',
    confidence: 'inferred',
    find: fact(({ facts: { code, accelerator, kvmVerdict, firmware, lastMark } }) => {
      if (code !== 'ERR_BOX_TIMEOUT' || accelerator?.proved !== 'kvm' || kvmVerdict !== 'emulated') return undefined
      // Such a KVM runs firmware well.
      if (firmware === true && lastMark === 'vm-start') return undefined
      return "kvm runs, and the preflight found that this host's KVM emulates guest kernels"
    }),
    sentence: () =>
      "This host's KVM emulates guest kernels instruction by instruction, which takes minutes or never ends.",
    remedy: "Use `accel: 'tcg'` for Linux here, or a host with real KVM.",
  },
  {
    id: 'emulated-kvm',
    source: 'the preflight, which refused to start the engine',
    confidence: 'said',
    find: fact(({ facts: { code, accelerator, kvmVerdict } }) =>
      code === 'ERR_BOX_ACCELERATOR' && accelerator?.asked === 'kvm' && kvmVerdict === 'emulated'
        ? "kvm was asked for, and the preflight found that this host's KVM emulates guest kernels"
        : undefined,
    ),
    sentence: () =>
      "This host's KVM emulates guest kernels instruction by instruction, so no Linux box starts with it.",
    remedy: "Use `accel: 'tcg'` or 'auto' for Linux here, or a host with real KVM.",
  },
  {
    id: 'silent-console',
    source: "the console's bytes and the marks",
    confidence: 'inferred',
    find: fact(({ facts: { code, lastMark, console } }) =>
      code === 'ERR_BOX_TIMEOUT' && lastMark === 'vm-start' && console?.length === 0
        ? 'the machine was started and not one byte came from its console'
        : undefined,
    ),
    sentence: () =>
      'The machine runs and its console stayed silent: no kernel started, or it writes to another console.',
    remedy:
      'Check `console=ttyS0` (and `earlyprintk=ttyS0`) in `cmdline`, and that kernel and `machine` fit each other.',
  },
  {
    id: 'tcg-slow',
    source: 'QMP query-kvm, the marks and the times of console reads',
    confidence: 'inferred',
    find: fact(({ facts: { code, accelerator, lastMark, sinceMs, consoleQuietMs, elapsedMs } }) => {
      if (code !== 'ERR_BOX_TIMEOUT' || accelerator?.proved !== 'tcg' || lastMark === 'agent-ready') return undefined
      const livelyMs = Math.min(LIVELY_MS, (elapsedMs ?? Infinity) * LIVELY_PART)
      const signs = [sinceMs, consoleQuietMs].filter((ms) => ms !== undefined && ms >= 0 && ms <= livelyMs)
      if (signs.length === 0) return undefined
      const quietMs = Math.min(...signs.map(Number))
      return `tcg runs, and the guest made progress until ${Math.round(quietMs)} ms before the deadline`
    }),
    sentence: () => 'The guest was emulated (TCG), still made progress, and was too slow for its deadline.',
    remedy: 'Raise `timeouts.bootMs`, or run where KVM works (`boxlab doctor` says what it lacks here).',
  },
]
