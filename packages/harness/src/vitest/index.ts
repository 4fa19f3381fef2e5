export * from '../index.ts'
export { type BoxFixtures, test } from './fixture.ts'
export { type BoxMatchers, boxMatchers } from './matchers.ts'
export { useBox } from './use-box.ts'
