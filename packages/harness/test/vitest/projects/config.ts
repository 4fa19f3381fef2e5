import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type ViteUserConfig } from 'vitest/config'

const conditions = ['@boxlab/source']
const out = process.env['TRAP_OUT'] ?? ''

/** Leaves the time at which the last file's tests ended: the JSON report has none for a file of which no test ran. */
const endTime = {
  onTestModuleEnd: (): void => writeFileSync(join(out, 'ended'), String(Date.now())),
}

const report: ['json', { outputFile: string }] = ['json', { outputFile: join(out, 'report.json') }]

/** What all of these projects have: everything that a run writes goes where the test wants it. */
export const baseConfig: ViteUserConfig = defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  // Where vitest loads reporters.
  environments: { __vitest__: { resolve: { conditions } } },
  cacheDir: join(out, 'cache'),
  test: {
    include: ['*.trap.ts'],
    maxWorkers: 1,
    attachmentsDir: join(out, 'attachments'),
    reporters: [report, endTime],
  },
})

/** The configuration of one of these projects. */
export function trapConfig(test: ViteUserConfig['test'] = {}): ViteUserConfig {
  const reporters = ['default', '@boxlab/harness/reporter', report, endTime]
  return { ...baseConfig, test: { ...baseConfig.test, pool: 'forks', ...test, reporters } }
}
