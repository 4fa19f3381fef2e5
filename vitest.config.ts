// vitest finds only vitest.config.*; the configuration itself is the workspace file.
export { default } from './vitest.workspace.ts'
