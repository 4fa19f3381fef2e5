import type { ExitsProblems } from './diagnostics.ts'

/** How often a reason was why a guest was left, as a tool printed it. */
export interface ReasonCount {
  /** The tool's name of it, without `EXIT_REASON_`. */
  readonly name: string
  readonly count: number
}

/** A table of exits by reason: of an interval that another tool watched. */
export interface ReasonTable {
  readonly tool: 'perf kvm stat' | 'kvmexit' | 'vmtop'
  readonly label: string
  /** Greatest first; those of 0 are left out, those of several threads added up. */
  readonly reasons: readonly ReasonCount[]
  /** The total that the tool printed below it. */
  readonly saidTotal?: number
  /** Lines in which the tool says that it does not know a reason. */
  readonly unknown: number
}

/** A reader of lines; keeps what it needs between them. */
export interface ReasonReader {
  /** False for a line that is of no table. */
  line(text: string, number: number): boolean
  end(): void
}

interface Open {
  readonly tool: ReasonTable['tool']
  /** Which of a row's values, counted behind its name, is the count. */
  readonly at: number
  readonly counts: Map<string, number>
  saidTotal?: number
}

/** The columns that perf has had (tools/perf/builtin-kvm.c, 3.7 to 6.17): which are there differs by version and machine. */
const PERF_COLUMNS = /VM-EXIT|Event name|Samples?%?|(?:(?:Min|Max|Mean|Avg) )?[Tt]ime(?: \(ns\)|%)?/g
const VALUE = /^\d+(?:\.\d+)?(?:%|ns|us|ms|s)?$/
const PAIR = /([a-z]\w{1,40}): ?(\d{1,18})/g
const PAIRS = /^[a-z]\w{1,40}: ?\d{1,18}(?:, ?[a-z]\w{1,40}: ?\d{1,18})*,?$/

/**
 * Reads the tables of `perf kvm stat` (live and report, any columns), of bcc's kvmexit and of vmtop (`hlt: 12, msr_write: 33`,
 * wrapped or not). A header, or a refresh of the tool, begins the next table.
 */
export function readReasons(file: string, add: (table: ReasonTable) => void, problems: ExitsProblems): ReasonReader {
  let open: Open | undefined
  let tables = 0
  let wrapped = false
  let unknown = 0

  function close(): void {
    if (open && open.counts.size > 0) {
      const { tool, counts, saidTotal } = open
      const reasons = [...counts].map(([name, count]) => ({ name, count })).filter(({ count }) => count > 0)
      tables += 1
      add({
        tool,
        label: tables === 1 ? file : `${file} ${tables}`,
        reasons: reasons.toSorted((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1)),
        ...(saidTotal !== undefined && { saidTotal }),
        unknown,
      })
      unknown = 0
    }
    open = undefined
    wrapped = false
  }

  function begin(tool: Open['tool'], at: number): true {
    close()
    open = { tool, at, counts: new Map() }
    return true
  }

  function put(into: Open, reason: string, text: string, number: number): true {
    const name = reason.replace(/^EXIT_REASON_/, '')
    const value = Number(text)
    if (/^\d{1,18}$/.test(text) && Number.isSafeInteger(value))
      into.counts.set(name, (into.counts.get(name) ?? 0) + value)
    else problems.add('bad-value', number, name)
    return true
  }

  function pairs(text: string, number: number): boolean {
    if (!PAIRS.test(text)) return false
    const found = [...text.matchAll(PAIR)]
    // One pair alone is a line of many things; after a comma it is the rest of a list.
    if (found.length < 2 && !wrapped) return false
    if (!wrapped) begin('vmtop', 0)
    for (const [, name = '', value = ''] of found) if (open) put(open, name, value, number)
    wrapped = text.endsWith(',')
    return true
  }

  return {
    line(raw, number) {
      // The shell shows what ended the tool in front of its first row.
      const text = raw
        .slice(0, 2000)
        .replace(/^\s*\^C/, '')
        .trim()
      if (text === '' || /^(?:Analyze events for|Display kvm exit reasons) /.test(text)) return true
      if (/^unknown kvm exit code/i.test(text)) {
        unknown += 1
        return true
      }
      if (/\bKVM_EXIT_REASON\s+COUNT$/.test(text)) return begin('kvmexit', 0)
      if (/^(?:VM-EXIT|Event name)\s/.test(text) && /\sSamples(?:\s|$)/.test(text)) {
        const columns: readonly string[] = text.match(PERF_COLUMNS) ?? []
        return begin('perf kvm stat', columns.indexOf('Samples') - 1)
      }
      const total = /^Total Samples: ?(\d{1,18})\b/.exec(text)
      if (total && open?.tool === 'perf kvm stat') {
        open.saidTotal = Number(total[1])
        return true
      }
      if (pairs(text, number)) return true
      if (!open || open.tool === 'vmtop') return false
      const words = text.split(/\s+/)
      if (open.tool === 'kvmexit') {
        const row = /^(?:\d{1,10}\s+){0,2}([A-Z]\w{1,60}|\d{1,5})\s+(\d{1,18})$/.exec(text)
        return row !== null && put(open, row[1] ?? '', row[2] ?? '', number)
      }
      const first = words.findIndex((word, index) => index > 0 && VALUE.test(word))
      const value = first < 0 ? undefined : words[first + open.at]
      return value !== undefined && put(open, words.slice(0, first).join(' '), value, number)
    },
    end: close,
  }
}

/**
 * Reasons that no guest has unless it is a hypervisor itself, or none at all: the sign of a table read with the wrong field, as
 * kvmexit has on Linux 5.4 and later, or of a host such as PVM whose codes are not VMX's.
 */
const UNLIKELY = /^(?:VM(?:CLEAR|LAUNCH|PTRLD|PTRST|READ|RESUME|WRITE|OFF|ON|XOFF|XON)|INVEPT|INVVPID|INVD)$/

/** Why the names in a table are not to be believed; undefined where nothing speaks against them. */
export function distrust({ reasons, unknown }: ReasonTable): string | undefined {
  const odd = reasons.map(({ name }) => name).filter((name) => UNLIKELY.test(name.toUpperCase()))
  const why = [
    ...(unknown > 0 ? [`the tool did not know ${unknown} of the exit codes that it met`] : []),
    ...(odd.length > 0 ? [`${odd.join(', ')} would be exits of a guest that is a hypervisor, or of firmware`] : []),
  ]
  return why.length > 0 ? why.join('; ') : undefined
}
