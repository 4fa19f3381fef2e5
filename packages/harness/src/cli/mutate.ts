import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { readMutateConfig } from '../mutate/config.ts'
import { baseOf, mutationGate } from '../mutate/gate.ts'
import { gateMarkdown } from '../mutate/markdown.ts'
import { interrupts } from './boot-interrupt.ts'
import { writeOut } from './write-out.ts'
import { refuse } from './refuse.ts'

interface MutateFlags {
  readonly config: string
  readonly since?: string | true
  readonly json?: string
  readonly markdown?: string
}

/** Adds `boxlab mutate`: whether a change to any line of a parser or an assertion would be noticed by a test. */
export function addMutate(program: Command): void {
  program
    .command('mutate')
    .description('Changes the code a little, again and again, and fails for each change that no test notices.')
    .argument('[file...]', 'only these of the files that the config names')
    .option('--config <file>', 'what is mutated, and the vitest config of the tests that hold it', 'mutate.config.json')
    .option('--since [ref]', 'only the lines that changed since a ref (default: where the change left origin/main)')
    .option('--json <file>', 'write the verdict as JSON too')
    .option('--markdown <file>', 'write it as Markdown too, such as to "$GITHUB_STEP_SUMMARY"')
    .addHelpText(
      'after',
      `
Exit code:
  0  every mutant was refused, or nothing changed that is mutated
  1  a mutant survived, an exemption is wrong, or the run measured nothing
  2  the config, the files or the ref cannot be used
`,
    )
    .action(async (files: string[], flags: MutateFlags) => {
      process.exitCode = await run(files, flags)
    })
}

async function run(files: readonly string[], { config: path, since, json, markdown }: MutateFlags): Promise<number> {
  const root = process.cwd()
  const config = readMutateConfig(resolve(root, path))
  if (typeof config === 'string') return refuse(config)
  const interrupt = interrupts()
  try {
    const result = await mutationGate(root, config, {
      files,
      since: since === true ? baseOf(root, process.env, config) : since,
      signal: interrupt.signal,
      runsInCi: (test) => existsSync(join(root, test)),
      tell: (line) => process.stderr.write(`${line}\n`),
    })
    if (result.code === 2) return refuse(result.lines.join('\n'))
    process.stdout.write(`${result.lines.join('\n')}\n`)
    const { verdict } = result
    const written = [
      json !== undefined && verdict ? writeOut(json, `${JSON.stringify(verdict, null, 2)}\n`) : 0,
      markdown === undefined ? 0 : writeOut(markdown, gateMarkdown(result)),
    ]
    return written.includes(1) ? 1 : result.code
  } finally {
    interrupt.end()
  }
}
