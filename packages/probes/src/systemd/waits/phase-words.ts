import type { PhaseName } from './phases.ts'

/** The phases in the words of tables and drawings. */
export const PHASE_WORDS: { readonly [name in PhaseName]: string } = {
  kernel: 'kernel',
  initrd: 'initrd',
  start: 'PID 1: start',
  security: 'PID 1: security',
  setup: 'PID 1: setup',
  generators: 'PID 1: generators',
  'units-load': 'PID 1: loading units',
  dispatch: 'PID 1: first transaction and dispatch',
}
