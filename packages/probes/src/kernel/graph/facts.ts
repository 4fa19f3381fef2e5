/** What is known of the tracer beside the trace; absent is not known. */
export interface TracefsFacts {
  /** The level of lockdown(7), from /sys/kernel/security/lockdown or what the kernel said. */
  readonly lockdown?: 'none' | 'integrity' | 'confidentiality'
  /** The kernel said that lockdown kept it from tracing. */
  readonly lockdownRefused?: true
  /** Files of tracefs could not be found although it is mounted, or not mounted at all. */
  readonly noFiles?: true
  /** Opening a file of tracefs failed: EPERM (lockdown) or EACCES (not root). */
  readonly notPermitted?: 'EPERM' | 'EACCES'
  readonly availableTracers?: readonly string[]
  readonly currentTracer?: string
  readonly tracingOn?: boolean
  /** The functions of set_graph_function, or of the kernel's ftrace_graph_filter=; empty: all of them. */
  readonly filter?: readonly string[]
  /** Events that per_cpu/cpuN/stats counts as overrun or dropped, over the CPUs. */
  readonly overrun?: number
  /** `initcall f returned … after N usecs` in the log of a boot, us by function: what an untraced boot took. */
  readonly initcalls?: ReadonlyMap<string, number>
}

/** Collects {@link TracefsFacts} line by line. */
export interface FactCollector {
  /** True where the line was one. */
  take(line: string): boolean
  facts(): TracefsFacts
}

type Mutable<T> = { -readonly [key in keyof T]: T[key] }

const LEVELS = /(?:^|[\s:=])(\[?none\]?) (\[?integrity\]?) (\[?confidentiality\]?)\s*$/
const REFUSED = /due to lockdown|Lockdown: \S{1,64} use of tracefs is restricted/
/** `grep . /sys/kernel/tracing/FILE…` and what it, `cat` and a shell say where they cannot read. */
const FILE = /\/sys\/kernel\/(?:debug\/)?tracing\/?([\w/-]{0,80})'?: ?(.{0,4096})$/
const STATS = /^(?:overrun|dropped events): (\d{1,18})$/
const COMMAND_LINE = /(?:^|\s)ftrace_graph_filter=(\S{1,4096})/
const INITCALL = /^initcall ([\w.$]{1,128})\+0x\S{1,32}(?: \[[\w-]{1,64}\])? returned -?\d{1,12} after (\d{1,15}) usecs/
const MOST_INITCALLS = 10_000

/** Makes a collector. */
export function collectFacts(): FactCollector {
  const known: Mutable<TracefsFacts> = {}
  const initcalls = new Map<string, number>()
  const twice = new Set<string>()

  function takeFile(file: string, said: string): boolean {
    if (said === 'Operation not permitted') known.notPermitted = 'EPERM'
    else if (said === 'Permission denied') known.notPermitted ??= 'EACCES'
    else if (said === 'No such file or directory') {
      // A kernel may lack one of many files; without these there is no tracefs.
      if (!/^(?:trace|current_tracer|available_tracers|tracing_on|)$/.test(file)) return true
      known.noFiles = true
    } else if (file === 'current_tracer') known.currentTracer = said.trim()
    else if (file === 'available_tracers') known.availableTracers = said.trim().split(/\s+/)
    else if (file === 'tracing_on') known.tracingOn = said.trim() === '1'
    else if (file === 'set_graph_function') {
      known.filter = said.startsWith('#') ? (known.filter ?? []) : [...(known.filter ?? []), said.trim()].slice(0, 100)
    } else if (/^per_cpu\/cpu\d+\/stats$/.test(file)) return takeStats(said) || true
    else return false
    return true
  }

  function takeStats(line: string): boolean {
    const [, count] = STATS.exec(line) ?? []
    if (count !== undefined) known.overrun = (known.overrun ?? 0) + Number(count)
    return (
      count !== undefined ||
      /^(?:entries|commit overrun|bytes|oldest event ts|now ts|read events): {0,12}[\d.]{1,24}$/.test(line)
    )
  }

  return {
    take(line) {
      const levels = LEVELS.exec(line)
      if (levels) {
        const level = levels.slice(1).find((word) => word.startsWith('['))
        if (level !== undefined) known.lockdown = level.slice(1, -1) as NonNullable<TracefsFacts['lockdown']>
        return level !== undefined
      }
      if (REFUSED.test(line)) {
        known.lockdownRefused = true
        return true
      }
      // A kernel without the LSM has no level.
      if (/^(?:grep|cat): .{0,20}\/sys\/kernel\/security\/lockdown/.test(line)) return true
      const [, file, said] = FILE.exec(line) ?? []
      if (file !== undefined && said !== undefined) return takeFile(file, said)
      const [, filter] = COMMAND_LINE.exec(line) ?? []
      if (filter !== undefined) {
        known.filter ??= filter.split(',').slice(0, 100)
        return true
      }
      const [, name, us] = INITCALL.exec(line) ?? []
      if (name !== undefined) {
        // Names such as `init` come more than once, and which is which nobody can say.
        if (initcalls.has(name) || twice.has(name)) {
          initcalls.delete(name)
          twice.add(name)
        } else if (initcalls.size + twice.size < MOST_INITCALLS) initcalls.set(name, Number(us))
        return true
      }
      return takeStats(line)
    },
    facts() {
      return { ...known, ...(initcalls.size > 0 ? { initcalls } : {}) }
    },
  }
}
