import { mergeConfig } from 'vitest/config'
import { baseConfig } from './config.ts'
import config from './documented/vitest.config.ts'

// The configuration that the documentation shows, in these projects.
export default mergeConfig(config, baseConfig)
