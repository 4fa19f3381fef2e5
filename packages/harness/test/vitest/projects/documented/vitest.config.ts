import { defineConfig, type ViteUserConfig } from 'vitest/config'

const config: ViteUserConfig = defineConfig({
  test: {
    pool: 'forks',
    testTimeout: 60_000,
    reporters: ['default', '@boxlab/harness/reporter'],
  },
})
export default config
