import { type Command, InvalidArgumentError } from 'commander'
import { examineHost } from '../preflight/doctor.ts'
import { renderDoctor } from '../preflight/render-doctor.ts'
import { isRequirement, type Requirement, requirementMeanings, requirements } from '../preflight/requirements.ts'
import { terminalOf } from './terminal.ts'

interface DoctorFlags {
  readonly json?: true
  readonly require?: readonly Requirement[]
}

/** Adds `boxlab doctor`: what this host can do for boxes, by trying it. */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('Tests what this host can do for boxes, and says what to do about the rest.')
    .option('--json', 'print the report as JSON')
    .option('--require <what>', 'what this host must give; may be repeated (see below)', readRequirement)
    .addHelpText('after', helpText())
    .action(async ({ json, require = [] }: DoctorFlags) => {
      const report = await examineHost({ require })
      const { width, color } = terminalOf(process.stdout)
      process.stdout.write(json ? `${JSON.stringify(report, null, 2)}\n` : renderDoctor(report, { width, color }))
      process.exitCode = report.exitCode
    })
}

function readRequirement(word: string, before: readonly Requirement[] = []): Requirement[] {
  if (!isRequirement(word)) throw new InvalidArgumentError(`It must be one of ${requirements.join(', ')}.`)
  return [...before, word]
}

function helpText(): string {
  const names = Object.entries(requirementMeanings).map(([name, meaning]) => `  ${name.padEnd(14)}${meaning}`)
  return `
What can be required:
${names.join('\n')}

Exit code:
  0  ready: everything works; with --require, all that is required does
  1  usable with limits: boxes boot, and the report says what does not work
  2  not usable: no box boots here, or something required is missing

Environment:
  BOXLAB_KVM    the KVM device, default /dev/kvm
  BOXLAB_HOME   where images and records are kept, default ~/.cache/boxlab
`
}
