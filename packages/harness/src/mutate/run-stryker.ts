import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { MutateConfig } from './config.ts'

/** How a run ended. */
export interface StrykerRun {
  /** The JSON of its report; absent where it wrote none. */
  readonly report?: string
  /** Why it wrote none, as a sentence. */
  readonly why?: string
}

const lastLines = 12

/**
 * Runs StrykerJS over files or ranges (`file.ts:3-9`) and gives its report. Whatever it says, it is the report that is judged:
 * a score of NaN and a threshold that covers what was not run have ended with exit code 0.
 */
export async function runStryker(
  root: string,
  config: MutateConfig,
  mutate: readonly string[],
  { signal, tell }: { readonly signal?: AbortSignal | undefined; readonly tell: (line: string) => void },
): Promise<StrykerRun> {
  const program = strykerOf(root)
  if (program === undefined) {
    return {
      why: 'StrykerJS is not installed: npm install --save-dev @stryker-mutator/core @stryker-mutator/vitest-runner',
    }
  }
  const folder = mkdtempSync(join(tmpdir(), 'boxlab-mutate-'))
  const reportFile = join(folder, 'report.json')
  const settings = {
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: config.vitestConfig, related: true },
    // Core 10.1 reads a tsconfig with an API that TypeScript 7 does not have (stryker-js#6110): there is none to read here.
    tsconfigFile: 'tsconfig.none.json',
    mutate,
    coverageAnalysis: 'perTest',
    ignoreStatic: false,
    allowEmpty: true,
    reporters: ['json'],
    jsonReporter: { fileName: reportFile },
    thresholds: { high: 100, low: 100, break: null },
    tempDirName: join(folder, 'sandbox'),
    cleanTempDir: 'always',
  }
  const configFile = join(folder, 'stryker.json')
  writeFileSync(configFile, JSON.stringify(settings))
  const limit = AbortSignal.timeout((config.minutes ?? 60) * 60_000)
  try {
    const { said, ended } = await run(
      program,
      configFile,
      root,
      signal ? AbortSignal.any([signal, limit]) : limit,
      tell,
    )
    if (existsSync(reportFile)) return { report: readFileSync(reportFile, 'utf8') }
    const how = limit.aborted ? `it took longer than ${config.minutes ?? 60} minutes` : ended
    return { why: `the mutation run wrote no report: ${how}\n${reasonIn(said).join('\n')}` }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Its first complaint and what follows, before the stacks; without one, the end of what it said. */
function reasonIn(said: readonly string[]): readonly string[] {
  const first = said.findIndex((line) => /\bERROR\b/.test(line))
  return first === -1 ? said.slice(-lastLines) : said.slice(first, first + lastLines)
}

/** The project's own, since its vitest and its tests are the project's. */
function strykerOf(root: string): string | undefined {
  try {
    const manifest = createRequire(pathToFileURL(join(root, 'package.json'))).resolve(
      '@stryker-mutator/core/package.json',
    )
    return join(dirname(manifest), 'bin/stryker.js')
  } catch {
    return undefined
  }
}

async function run(
  program: string,
  configFile: string,
  root: string,
  signal: AbortSignal,
  tell: (line: string) => void,
): Promise<{ readonly said: readonly string[]; readonly ended: string }> {
  const said: string[] = []
  const child = spawn(process.execPath, [program, 'run', configFile], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGTERM',
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' },
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      const lines = text.split('\n').filter((line) => line.trim() !== '')
      said.push(...lines)
      said.splice(0, Math.max(0, said.length - 200))
      for (const line of lines) tell(line)
    })
  }
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ said, ended: error.message }))
    child.on('close', (code, by) =>
      resolve({ said, ended: code === null ? `it was ended by ${by}` : `exit code ${code}` }),
    )
  })
}
