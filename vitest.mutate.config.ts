import { defineConfig, type ViteUserConfig } from 'vitest/config'

// What holds the mutated code: small inputs alone. Recordings of megabytes, stopwatches and runs of other programs would
// be run once a mutant.
const conditions = ['@boxlab/source']

const config: ViteUserConfig = defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['packages/probes/test/**/*.test.ts', 'packages/harness/test/mutate/*.test.ts'],
    exclude: ['**/speed.test.ts', '**/gate.test.ts', '**/node_modules/**'],
    testTimeout: 30_000,
  },
})

export default config
