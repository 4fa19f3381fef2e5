export { asideFolder } from './aside.ts'
export { type BoxEntry, listBoxes, type ListOptions } from './list-boxes.ts'
export { OWNER_DIED, sweep, type SweepOptions, type SweepReport, type SweptBox } from './sweep.ts'
export { sweepSoon } from './sweep-soon.ts'
