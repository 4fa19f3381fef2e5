import { asDisplayText } from '../terminal.ts'
import { callKey, type InitcallLine, readInitcallLine } from './initcall-lines.ts'
import type { InitcallsProblems } from './initcalls-diagnostics.ts'
import type { LogMessage } from './log-messages.ts'
import { watchRepeats } from './repeats.ts'
import { watchStamps } from './stamp-runs.ts'

/** A call as the log has it, before its times are judged. */
export interface LoggedCall {
  readonly name: string
  readonly symbol: string
  readonly module?: string
  readonly level?: string
  readonly pid?: number
  readonly caller?: string
  readonly line: number
  readonly startUs?: number
  returnedLine?: number
  endUs?: number
  returned?: number
  usecs?: number
  warning?: string
  /** Its thread went on, so that it has returned. */
  returnLost?: true
  /** One of its lines has a stamp that many lines have: the clock stood, and by so much it was wrong when it went on. */
  stampErrorUs?: number
  /** Another call began before it returned. */
  overlapped?: true
}

export interface LoggedProbe {
  readonly device: string
  readonly driver?: string
  readonly returned: number
  readonly usecs: number
  readonly line: number
  readonly atUs?: number
  readonly caller?: string
  /** The calls that were open when the line came, places in `calls`, the last one last. */
  readonly open: readonly number[]
}

export interface LoggedFixup {
  readonly device: string
  readonly name: string
  readonly line: number
  readonly startUs?: number
  endUs?: number
  endLine?: number
  usecs?: number
}

/** A time between two calls. */
export interface LoggedGap {
  readonly startUs?: number
  readonly endUs?: number
  readonly after?: number
  readonly before?: number
  readonly messages: number
  readonly first?: string
  readonly userspace: boolean
}

/** What one boot's log has. */
export interface LoggedBoot {
  readonly calls: LoggedCall[]
  /** Places in `calls` in the order of their returns. */
  readonly returns: number[]
  readonly probes: LoggedProbe[]
  readonly fixups: LoggedFixup[]
  readonly gaps: LoggedGap[]
  readonly levels: { readonly level: string; readonly line: number; readonly atUs?: number }[]
  /** What dev_printk last called the driver of a device, and when: its bus, while it has no driver. */
  readonly drivers: ReadonlyMap<string, { readonly driver: string; readonly line: number }>
  /** Begins with the kernel's first line. */
  whole: boolean
  kernel?: string
  commandLine?: string
  switched?: { readonly line: number; readonly clocksource: string }
  panic?: { readonly line: number; readonly atUs?: number; readonly text: string; readonly call?: number }
}

/** Collects the boots of a log from its messages, in order. */
export interface CallCollector {
  take(message: LogMessage): void
  end(): readonly LoggedBoot[]
}

// More devices than this talk in no boot; foreign text must not fill the memory.
const MAX_DEVICES = 10_000
const TEXT_CHARS = 120
/** More calls than this are not open at once, whatever the machine: what is older has lost its return. */
const MAX_OPEN = 256

/** Makes a collector that counts what it cannot use in `problems`. */
export function collectCalls(problems: InitcallsProblems): CallCollector {
  const boots: LoggedBoot[] = []
  let one = collectBoot(problems, false)
  let timed = false

  return {
    take(message) {
      timed ||= message.atUs !== undefined
      // A program may print /proc/version: in a log with stamps only a stamped line begins a boot.
      if (/^Linux version \S/.test(message.text) && (message.atUs !== undefined || !timed)) {
        boots.push(one.end())
        one = collectBoot(problems, true)
      }
      one.take(message)
    },
    end() {
      boots.push(one.end())
      return boots
    },
  }
}

function collectBoot(
  problems: InitcallsProblems,
  whole: boolean,
): { take(message: LogMessage): void; end(): LoggedBoot } {
  const drivers = new Map<
    string,
    { readonly driver: string; readonly atUs: number | undefined; readonly line: number }
  >()
  const boot: LoggedBoot = { calls: [], returns: [], probes: [], fixups: [], gaps: [], levels: [], drivers, whole }
  const open = new Set<number>()
  const undisturbed = new Set<number>()
  const bySymbol = new Map<string, number[]>()
  const byPid = new Map<number, number>()
  const openFixups = new Map<string, LoggedFixup>()
  let level: string | undefined
  let userspace = false
  const repeats = watchRepeats()
  const stamps = watchStamps((place, errorUs) => {
    const call = boot.calls[place]!
    call.stampErrorUs = Math.max(errorUs, call.stampErrorUs ?? 0)
  })
  let gap = openGap(undefined, whole ? 0 : undefined)

  function openGap(
    after: number | undefined,
    startUs: number | undefined,
  ): { -readonly [K in keyof LoggedGap]: LoggedGap[K] } {
    return { messages: 0, userspace, ...(after !== undefined && { after }), ...(startUs !== undefined && { startUs }) }
  }

  function closeGap(endUs: number | undefined, before?: number): void {
    boot.gaps.push({ ...gap, ...(endUs !== undefined && { endUs }), ...(before !== undefined && { before }) })
  }

  function calling(line: InitcallLine & { kind: 'calling' }, { atUs, caller, line: number }: LogMessage): void {
    const place = boot.calls.length
    const before = byPid.get(line.pid)
    if (before !== undefined && open.delete(before)) {
      boot.calls[before]!.returnLost = true
      problems.add('return-lost', boot.calls[before]!.line, boot.calls[before]!.name)
    }
    if (open.size === 0) closeGap(atUs, place)
    const { name, symbol, module, pid } = line
    boot.calls.push({
      name,
      symbol,
      ...(module !== undefined && { module }),
      ...(level !== undefined && module === undefined && !userspace && { level }),
      pid,
      ...(caller !== undefined && { caller }),
      line: number,
      ...(atUs !== undefined && { startUs: atUs }),
    })
    for (const one of undisturbed) if (open.has(one)) boot.calls[one]!.overlapped = true
    undisturbed.clear()
    undisturbed.add(place)
    open.add(place)
    const [oldest] = open
    if (open.size > MAX_OPEN && oldest !== undefined) open.delete(oldest)
    byPid.set(pid, place)
    const places = bySymbol.get(callKey(line))
    if (places === undefined) bySymbol.set(callKey(line), [place])
    else places.push(place)
    stamps.take(place, atUs)
  }

  function returned(line: InitcallLine & { kind: 'returned' }, { atUs, caller, line: number }: LogMessage): void {
    const { returned: value, usecs, name, symbol, module } = line
    const end = { returnedLine: number, returned: value, usecs, ...(atUs !== undefined && { endUs: atUs }) }
    const place = openCall(line, caller)
    if (place === undefined) {
      problems.add('return-without-call', number, name)
      boot.returns.push(boot.calls.length)
      boot.calls.push({ name, symbol, ...(module !== undefined && { module }), line: number, ...end })
      return
    }
    Object.assign(boot.calls[place]!, end)
    boot.returns.push(place)
    open.delete(place)
    if (open.size === 0) gap = openGap(place, atUs)
    stamps.take(place, atUs)
  }

  /** The last call of this symbol that is open, of the same thread where both lines say theirs. */
  function openCall(line: InitcallLine & { kind: 'returned' | 'warning' }, caller?: string): number | undefined {
    const places = bySymbol.get(callKey(line)) ?? []
    // Calls of one symbol seldom overlap, so the end of the row is where to look.
    const recent = places.slice(-8).filter((place) => open.has(place))
    return recent.findLast((place) => boot.calls[place]?.caller === caller) ?? recent.at(-1)
  }

  function probe(line: InitcallLine & { kind: 'probe' }, { atUs, caller, line: number }: LogMessage): void {
    const { device, returned: value, usecs } = line
    const named = drivers.get(device)
    const began = atUs === undefined ? undefined : atUs - usecs
    // Only from the probe on has the device a driver whose name dev_printk gives; before it is that of its bus.
    const driver = named?.atUs !== undefined && began !== undefined && named.atUs >= began ? named.driver : undefined
    boot.probes.push({
      device,
      ...(driver !== undefined && { driver }),
      returned: value,
      usecs,
      line: number,
      ...(atUs !== undefined && { atUs }),
      ...(caller !== undefined && { caller }),
      open: [...open],
    })
  }

  function fixup(line: InitcallLine & { kind: 'fixup' }, { atUs, line: number }: LogMessage): void {
    const { device, name, symbol } = line
    const one: LoggedFixup = { device, name, line: number, ...(atUs !== undefined && { startUs: atUs }) }
    boot.fixups.push(one)
    openFixups.set(`${device} ${symbol}`, one)
  }

  function took(line: InitcallLine & { kind: 'fixup-took' }, { atUs, line: number }: LogMessage): void {
    const one = openFixups.get(`${line.device} ${line.symbol}`)
    if (one === undefined) return
    Object.assign(one, { usecs: line.usecs, endLine: number, ...(atUs !== undefined && { endUs: atUs }) })
    openFixups.delete(`${line.device} ${line.symbol}`)
  }

  function otherMessage({ text, atUs, caller, line }: LogMessage): void {
    if (open.size === 0) {
      gap.messages += 1
      if (text.trim() !== '') gap.first ??= asDisplayText(text).slice(0, TEXT_CHARS)
    }
    const version = /^Linux version (\S{1,80})/.exec(text)?.[1]
    if (version !== undefined) boot.kernel ??= version
    const commandLine = /^Kernel command line: (.*)/.exec(text)?.[1]
    if (commandLine !== undefined) boot.commandLine ??= commandLine
    const clocksource = /(?:^|clocksource: )Switch(?:ed|ing) to clocksource (\S{1,40})/.exec(text)?.[1]
    if (clocksource !== undefined) boot.switched ??= { line, clocksource }
    if (/^Run \S{1,200} as init process/.test(text) && !userspace) {
      if (open.size === 0) closeGap(atUs)
      userspace = true
      gap = openGap(undefined, atUs)
    }
    const panicAt = boot.panic === undefined ? text.indexOf('Kernel panic - not syncing') : -1
    if (panicAt !== -1) {
      const places = [...open]
      const call =
        places.findLast((place) => caller !== undefined && boot.calls[place]?.caller === caller) ?? places.at(-1)
      boot.panic = {
        line,
        ...(atUs !== undefined && { atUs }),
        text: asDisplayText(text.slice(panicAt)).slice(0, TEXT_CHARS),
        ...(call !== undefined && { call }),
      }
    }
    // dev_printk: the driver of a device, or its bus while it has none.
    const [, driver, device] = /^([\w.-]{1,40}) ([\w:.-]{1,80}): /.exec(text) ?? []
    if (driver !== undefined && device !== undefined && (drivers.size < MAX_DEVICES || drivers.has(device))) {
      drivers.set(device, { driver, atUs, line })
    }
  }

  function dispatch(line: InitcallLine, message: LogMessage): void {
    if (line.kind === 'calling') calling(line, message)
    else if (line.kind === 'returned') returned(line, message)
    else if (line.kind === 'probe') probe(line, message)
    else if (line.kind === 'fixup') fixup(line, message)
    else if (line.kind === 'fixup-took') took(line, message)
    else if (line.kind === 'level') {
      level = line.level
      const { atUs } = message
      boot.levels.push({ level, line: message.line, ...(atUs !== undefined && { atUs }) })
    } else if (line.kind === 'warning') {
      const place = bySymbol.get(callKey(line))?.at(-1)
      if (place !== undefined) boot.calls[place]!.warning = asDisplayText(line.warning)
    } else problems.add(line.kind, message.line)
  }

  return {
    take(message) {
      const line = readInitcallLine(message.text)
      if (repeats.has(message, line)) {
        if (line !== undefined) problems.add('seen-twice', message.line)
        return
      }
      if (line === undefined) otherMessage(message)
      else dispatch(line, message)
    },
    end() {
      stamps.end()
      return boot
    },
  }
}
