import type { TracefsFacts } from './facts.ts'
import type { TraceReading } from './read-trace.ts'

/** Why there is no function in an input. */
export type EmptyReason =
  | 'lockdown'
  | 'tracefs-empty'
  | 'not-permitted'
  | 'tracer-missing'
  | 'tracer-not-set'
  | 'tracing-off'
  | 'filter-matched-nothing'
  | 'overrun'
  | 'empty'
  | 'other-tracer'
  | 'no-trace'

/** The reason with a sentence that has the remedy. */
export interface WhyEmpty {
  readonly reason: EmptyReason
  readonly message: string
}

const KERNELS =
  'Debian’s 6.12 and Ubuntu’s kernels have it (CONFIG_FUNCTION_GRAPH_TRACER), and `zcat /proc/config.gz` or /boot/config-* tells of others'

// Measured: 6.1.0-57 has acpi_init with one CPU and a header alone with two, 6.12.117 has it with both.
const OLD_SMP =
  'Debian’s 6.1 traces no initcall of a boot with more than one CPU, where 6.12 does, and 6.1 itself with one'

/**
 * Why a trace is empty, asked in the order in which the causes hide one another: the level of lockdown, an empty tracefs,
 * EPERM, the tracer, tracing_on, a filter that matched nothing, overrun.
 */
export function whyEmpty({ traces, otherTracers, facts }: TraceReading): WhyEmpty {
  const headed = traces.some(({ headed: has }) => has)
  return (
    whyUnreadable(facts) ??
    whyUntraced(facts) ??
    (headed
      ? {
          reason: 'empty',
          message: `the trace has its header and no function: tracefs could be read and the tracer is set, so tracing_on is 0, or no function of the filter ran (${OLD_SMP}), or the buffer was cleared. Give /sys/kernel/tracing/tracing_on and set_graph_function beside it (\`grep . FILE…\`)`,
        }
      : otherTracers.length > 0
        ? {
            reason: 'other-tracer',
            message: `the trace is of the tracer \`${otherTracers.join('`, `')}\`, which has no durations; write function_graph to /sys/kernel/tracing/current_tracer`,
          }
        : {
            reason: 'no-trace',
            message:
              'nothing in the input is of function_graph; give /sys/kernel/tracing/trace, text of trace_pipe, or `trace-cmd report`',
          })
  )
}

/** What keeps tracefs from being read at all. */
function whyUnreadable({ lockdown, lockdownRefused, noFiles, notPermitted }: TracefsFacts): WhyEmpty | undefined {
  if (lockdown === 'confidentiality' || (lockdownRefused && lockdown === undefined)) {
    return {
      reason: 'lockdown',
      message:
        'the kernel is locked down (confidentiality), which closes tracefs; the level cannot be lowered: boot without `lockdown=confidentiality`, or a kernel whose default is less',
    }
  }
  if (noFiles) {
    return {
      reason: 'tracefs-empty',
      message:
        'tracefs has no files: it is not mounted (`mount -t tracefs tracefs /sys/kernel/tracing`), or it is and empty, which is lockdown=confidentiality from the boot on (see /sys/kernel/security/lockdown)',
    }
  }
  if (notPermitted === 'EPERM') {
    return {
      reason: 'not-permitted',
      message:
        'files of tracefs exist and opening them gives EPERM: lockdown was raised at run time, and cannot be lowered; boot again',
    }
  }
  return notPermitted === 'EACCES'
    ? { reason: 'not-permitted', message: 'files of tracefs exist and may not be opened (EACCES): read them as root' }
    : undefined
}

/** What keeps a readable tracefs from having something to read. */
function whyUntraced(facts: TracefsFacts): WhyEmpty | undefined {
  const { availableTracers, currentTracer, tracingOn, filter = [], overrun = 0 } = facts
  if (availableTracers && !availableTracers.includes('function_graph')) {
    return { reason: 'tracer-missing', message: `the kernel has no function_graph tracer; ${KERNELS}` }
  }
  if (currentTracer !== undefined && currentTracer !== 'function_graph') {
    return {
      reason: 'tracer-not-set',
      message: `the tracer is \`${currentTracer}\`; boot with ftrace=function_graph, or write function_graph to /sys/kernel/tracing/current_tracer`,
    }
  }
  if (tracingOn === false) {
    return { reason: 'tracing-off', message: 'tracing_on is 0; write 1 to /sys/kernel/tracing/tracing_on' }
  }
  if (overrun > 0) {
    return {
      reason: 'overrun',
      message: `${overrun} events were overwritten, and none is left; use a larger buffer (trace_buf_size=64M) or a filter`,
    }
  }
  if (filter.length > 0) {
    return {
      reason: 'filter-matched-nothing',
      message: `no function of the filter (${filter.join(', ')}) ran while it was traced: ${OLD_SMP}; do_one_initcall is inlined for built-ins; for others look into /sys/kernel/tracing/available_filter_functions`,
    }
  }
  return undefined
}
