import { defineConfig, type ViteUserConfig } from 'vitest/config'

const conditions = ['@boxlab/source']
const config: ViteUserConfig = defineConfig({
  // Nothing of a run that is killed may stay in the checkout.
  cacheDir: process.env['TMPDIR'] ?? '',
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: { include: ['owner.kill.ts'], hookTimeout: 120_000 },
})

export default config
