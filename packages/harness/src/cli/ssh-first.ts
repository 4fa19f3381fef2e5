import { readFileSync, statSync } from 'node:fs'
import {
  drawSshFirst,
  type NamedInput,
  renderSshFirst,
  sshFirst,
  type SshFirstInput,
  sshFirstJson,
  type SshFirstResult,
} from '@boxlab/probes'
import type { Command } from 'commander'
import { queueOf, readSshFirst } from '../reports/record-ssh-first.ts'
import type { SshFirstOptions } from '../ssh/options.ts'
import { Wait } from '../wait/index.ts'
import { addMachineFlags, type MachineFlags, wholeNumber } from './boot-flags.ts'
import { withLiveBox } from './live-box.ts'
import { whyNoRecord } from './show.ts'
import { writeOut } from './write-out.ts'
import { refuse } from './refuse.ts'
import { printResult } from './print-result.ts'

interface SshFirstFlags extends MachineFlags {
  readonly from?: readonly string[]
  readonly call?: number
  readonly svg?: string
  readonly json?: true
  readonly user?: string
  readonly port?: number
  readonly logins?: number
  readonly load?: number
  readonly loginTimeout?: number
}

/** Adds `boxlab ssh-first`: when somebody can log in, from a record, from files, or from a boot of its own. */
export function addSshFirst(program: Command): void {
  const command = program
    .command('ssh-first')
    .description('Prints when somebody can log in over SSH, step by step: of a record, or of an image that it boots.')
    .argument('[record]', 'the folder of a record in which `box.sshFirst()` was called')
    .option(
      '--from <file...>',
      'a record, or ssh.jsonl, clock.jsonl, marks.jsonl, boot.json and systemd-jobs.jsonl of a record; told apart by content',
    )
    .option('--call <n>', 'which call of the record (default: the first)', wholeNumber)
    .option('--user <name>', 'who logs in (default: root)')
    .option('--port <n>', "the server's port in the guest (default: 22)", wholeNumber)
    .option('--logins <n>', 'how many logins (default: 2)', wholeNumber)
    .option('--load <cpus>', 'one login more, while so many busy loops run in the guest', wholeNumber)
    .option('--login-timeout <ms>', 'the bound of each login, in milliseconds (default: 60000)', wholeNumber)
    .option('--svg <file>', 'write the waterfall as SVG too')
    .option('--json', 'print the logins as JSON')
    .addHelpText(
      'after',
      `
Exit code:
  0  the logins came to their end
  1  one was refused, there is none in the record, or the boot failed
  2  the files cannot be read, or the flags ask for nothing
`,
    )
  addMachineFlags(command).action(async (record: string | undefined, flags: SshFirstFlags) => {
    process.exitCode = await run(record, flags)
  })
}

async function run(given: string | undefined, flags: SshFirstFlags): Promise<number> {
  const [only, ...others] = flags.from ?? []
  const record = given ?? (only !== undefined && others.length === 0 && isFolder(only) ? only : undefined)
  if (record !== undefined) {
    const problem = whyNoRecord(record)
    return problem === undefined ? print(readSshFirst(record, callOf(flags)), flags) : refuse(problem)
  }
  if (flags.from) return fromFiles(flags.from, flags)
  if (flags.image === undefined) return refuse('give a record, or `--from` with its files, or an `--image` to boot')
  // Ready before PID 1 runs, so that when the port accepts is seen.
  const early = { waitFor: Wait.forMark('agent-ready') }
  return withLiveBox(flags, { jobs: true }, async (box) => print(await box.sshFirst(orderOf(flags)), flags), early)
}

/** As with the other probes, `--from` takes a record too. */
function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function callOf({ call }: SshFirstFlags): { readonly call?: number } {
  return call === undefined ? {} : { call }
}

function orderOf({ user, port, logins, load, loginTimeout }: SshFirstFlags): SshFirstOptions {
  return {
    ...(user !== undefined && { user }),
    ...(port !== undefined && { port }),
    ...(logins !== undefined && { logins }),
    ...(load !== undefined && { load: { cpus: load } }),
    ...(loginTimeout !== undefined && { timeoutMs: loginTimeout }),
  }
}

function fromFiles(names: readonly string[], flags: SshFirstFlags): 0 | 1 | 2 {
  const input: { -readonly [name in keyof SshFirstInput]: SshFirstInput[name] } = { ssh: '', ...callOf(flags) }
  const recordings: NamedInput[] = []
  for (const name of names) {
    try {
      const text = readFileSync(name, 'utf8')
      const kind = kindOf(text)
      if (kind === 'jobs') recordings.push({ name, input: text })
      else input[kind] = text
    } catch (error) {
      const why = (error as NodeJS.ErrnoException).code ?? String(error)
      return refuse(`${name} cannot be read (${why}); give a file of a record`)
    }
  }
  return print(sshFirst({ ...input, ...queueOf(recordings) }), flags)
}

/** By the fields of its first line. What no other file can be may be a recording of PID 1's queue. */
function kindOf(text: string): 'ssh' | 'clock' | 'marks' | 'boot' | 'jobs' {
  const [first = ''] = text.trimStart().split('\n', 1)
  if (/"transport"|"login"/.test(first)) return 'ssh'
  if (/^\{\s*"mark"/.test(first)) return 'marks'
  if (/^\{\s*"hostSendNs"/.test(first)) return 'clock'
  return /^\s*\{[^]*"(?:boxId|accelerator)"/.test(text) ? 'boot' : 'jobs'
}

function print(result: SshFirstResult, { svg, json }: SshFirstFlags): 0 | 1 {
  printResult(result, { json, toJson: sshFirstJson, render: renderSshFirst })
  if (!result.found) return 1
  const written = svg === undefined ? 0 : writeOut(svg, drawSshFirst(result))
  return result.refused === undefined ? written : 1
}
