import { existsSync, readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Machine } from '@boxlab/native'
import type { NamedInput } from '@boxlab/probes'
import { type ExecDefaults, type ExecOptions, execCommand } from '../exec.ts'

/** What the guest's tracefs said, in the record: how the tracer stood, as `grep .` prints it, and the trace. */
export const graphFiles = {
  facts: 'guest/graph-facts.txt',
  trace: 'guest/graph-trace.txt',
} as const

/** Says how the tracer stands, and stops it, so that the trace holds still while it is read. */
const FACTS = `
s=/sys/kernel/security t=/sys/kernel/tracing
[ -e $s/lockdown ] || mount -t securityfs securityfs $s
[ -e $t/trace ] || mount -t tracefs tracefs $t
grep -H . $s/lockdown
for f in available_tracers current_tracer tracing_on set_graph_function; do grep -H . $t/$f; done
echo 0 > $t/tracing_on
for f in $t/per_cpu/cpu*/stats; do [ ! -e $f ] || grep -H . $f; done
[ -e $t/trace ] || grep -H . $t/trace
exit 0`

// Without tracefs there is no trace, and the facts say so.
const TRACE = 't=/sys/kernel/tracing/trace; [ ! -r $t ] || cat $t'
const GOES_ON =
  'if grep -q tracing_on:1 && [ -e /sys/kernel/tracing/tracing_on ]; then echo 1 > /sys/kernel/tracing/tracing_on; fi'

/**
 * Asks a guest with a shell for its trace and puts it into the record, in place of one before. Mounts tracefs where it is not;
 * tracing rests while it is read.
 */
export async function recordTrace(
  machine: Machine,
  record: string,
  call: ExecOptions & { readonly limitBytes: number },
  defaults: ExecDefaults,
): Promise<void> {
  const { limitBytes, ...options } = call
  const run = (line: string, more: ExecOptions = {}): ReturnType<typeof execCommand> =>
    execCommand(machine, ['/bin/sh', '-c', line], { ...options, user: 'root', ...more }, defaults)
  const facts = await run(FACTS)
  const trace = await run(TRACE)
  const said = Buffer.concat([facts.stdout, facts.stderr, trace.stderr])
  await run(GOES_ON, { stdin: facts.stdout })
  await replace(join(record, graphFiles.facts), said)
  await replace(join(record, graphFiles.trace), cut(trace.stdout, limitBytes))
}

/** Whole lines up to the bound of a record's files; the last line is then one that the probe counts as unreadable. */
function cut(text: Buffer, limitBytes: number): Buffer {
  if (text.length <= limitBytes) return text
  const note = Buffer.from('boxlab: the record takes no more: raise `record.maxMib`\n')
  const end = text.subarray(0, Math.max(0, limitBytes - note.length)).lastIndexOf(10) + 1
  return Buffer.concat([text.subarray(0, end), note])
}

async function replace(path: string, text: Buffer): Promise<void> {
  await writeFile(`${path}.new`, text)
  await rename(`${path}.new`, path)
}

/** The trace of a record and what is known of the tracer, as inputs of the probe; none where nobody asked for it. */
export function traceInputs(record: string): readonly NamedInput[] {
  return [graphFiles.trace, graphFiles.facts]
    .filter((name) => existsSync(join(record, name)))
    .map((name) => ({ name, input: readFileSync(join(record, name)) }))
}

/** The kernel's options that trace a boot from its first calls on. */
export function bootTraceCmdline({
  filter,
  depth,
}: {
  readonly filter?: readonly string[]
  readonly depth?: number
}): string {
  return [
    'ftrace=function_graph',
    ...(filter === undefined || filter.length === 0 ? [] : [`ftrace_graph_filter=${filter.join(',')}`]),
    ...(depth === undefined ? [] : [`ftrace_graph_max_depth=${depth}`]),
    'trace_buf_size=16M',
  ].join(' ')
}
