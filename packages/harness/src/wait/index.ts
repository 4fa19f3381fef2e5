export {
  describeStrategy,
  needsAgent,
  nativeMark,
  strategyProblem,
  Wait,
  type WaitLeaf,
  type WaitStrategy,
} from './strategy.ts'
export { waitFor } from './wait-for.ts'
