import type { NamedInput } from '../../input/byte-input.ts'
import { type ReadingDiagnostic, type ReadingProblems, countReadingProblems } from './reading-diagnostics.ts'
import { readTextLines } from './text-lines.ts'

/** The fields of one block of text: a unit, or PID 1 itself. */
export interface Block {
  readonly format: 'show' | 'dump'
  /** Where it begins. */
  readonly line: number
  readonly fields: ReadonlyMap<string, Field>
  /** A key whose line was torn, or that stands twice where once is meant: its value is not known. */
  readonly lost: ReadonlySet<string>
  /** A line of this block was lost and nobody can say which. */
  readonly holed: boolean
}

/** Values of one key, in the order of the text. */
export interface Field {
  readonly values: string[]
  readonly line: number
}

/** The blocks of an input and what could not be used of it. */
export interface Blocks {
  readonly blocks: readonly Block[]
  readonly lines: number
  readonly problems: ReadingProblems
}

export type { ReadingDiagnostic }

// Only these are kept: a block of `systemctl show --all` has over 300 keys.
const SHOW_KEYS: ReadonlySet<string> = new Set(
  `Id Names After Type ConditionResult AssertResult NRestarts Job JobRunningTimeoutUSec TriggeredBy
  ConditionTimestampMonotonic InactiveExitTimestampMonotonic ActiveEnterTimestampMonotonic
  ActiveExitTimestampMonotonic InactiveEnterTimestampMonotonic ExecMainStartTimestampMonotonic
  ExecMainHandoffTimestampMonotonic InitRDTimestampMonotonic UserspaceTimestampMonotonic FinishTimestampMonotonic
  SecurityStartTimestampMonotonic SecurityFinishTimestampMonotonic GeneratorsStartTimestampMonotonic
  GeneratorsFinishTimestampMonotonic UnitsLoadStartTimestampMonotonic UnitsLoadFinishTimestampMonotonic
  UnitsLoadTimestampMonotonic ControlGroup SoftRebootsCount FragmentPath RequiredBy BoundBy WantedBy
  TimeoutStartUSec`.split(/\s+/),
)
/** Keys that tell more of a unit; where they are lost it can be used all the same. */
const TELLING: ReadonlySet<string> = new Set([
  'FragmentPath',
  'Fragment Path',
  'RequiredBy',
  'BoundBy',
  'WantedBy',
  'TimeoutStartUSec',
])
const DUMP_KEYS: ReadonlySet<string> = new Set([
  'Alias',
  'Unit Load State',
  'Inactive Exit Timestamp',
  'Active Enter Timestamp',
  'Active Exit Timestamp',
  'Inactive Enter Timestamp',
  'Condition Timestamp',
  'Condition Result',
  'Assert Result',
  'After',
  'TriggeredBy',
  'StopWhenUnneeded',
  'Type',
  'Job Running Timeout',
  'Fragment Path',
])
// Most lines of a dump are settings of exec and cgroup: they are told by their first letter, without a copy.
const DUMP_INITIALS: ReadonlySet<number> = new Set([...DUMP_KEYS].map((key) => key.charCodeAt(0)))
const REPEATED: ReadonlySet<string> = new Set(['Alias', 'After', 'TriggeredBy'])

/** True for a key whose value the analysis is based on. */
export function bearsOnTimes(key: string): boolean {
  return (SHOW_KEYS.has(key) || DUMP_KEYS.has(key)) && !TELLING.has(key)
}

const DUMP_HEADER = /^(?:->|→) (Unit|Job) (\S+):$/
const DUMP_HEAD_LINE = /^(?:Manager: systemd|Features: |Subscribed: )/
const DUMP_STAMP = /^Timestamp ([a-z-]{1,40}): (.*)$/
const SHOW_KEY = /^[A-Z][A-Za-z0-9]*$/
const SHOW_KEY_BEGUN = /^[A-Z][A-Za-z0-9]*(?:=|$)/

interface OpenBlock {
  readonly format: 'show' | 'dump'
  readonly line: number
  readonly fields: Map<string, Field>
  readonly lost: Set<string>
  holed: boolean
  /** Foreign text came; if more of the block follows, a line of it may have been lost there. */
  foreign: boolean
}

/**
 * Cuts an input into blocks, by what its lines look like: `Key=value` with blank lines between the blocks is
 * `systemctl show` of systemd 247 to 262; `-> Unit NAME:` with `\tKey: value` below it is `systemd-analyze dump`. Both may
 * stand in one text, also as a serial console has it. Never throws; what it could not read is in `problems`.
 */
export function tokenizeSystemd({ name, input }: NamedInput): Blocks {
  const problems = countReadingProblems(name)
  const blocks: Block[] = []
  const dumpManager: OpenBlock = {
    format: 'dump',
    line: 1,
    fields: new Map(),
    lost: new Set(),
    holed: false,
    foreign: false,
  }
  let open: OpenBlock | undefined
  // Jobs of a dump come behind its units and look like their nested blocks.
  let inJobs = false

  function close(): void {
    if (open !== undefined) blocks.push(open)
    open = undefined
  }

  function begin(format: 'show' | 'dump', line: number): OpenBlock {
    close()
    open = { format, line, fields: new Map(), lost: new Set(), holed: false, foreign: false }
    return open
  }

  function takeHeader(line: string, number: number): boolean {
    const [, kind, unit] = DUMP_HEADER.exec(line) ?? []
    if (unit === undefined) return false
    inJobs = kind === 'Job'
    if (inJobs) close()
    else put(begin('dump', number), 'Id', unit, number)
    return true
  }

  function takeDumpHead(line: string, number: number): boolean {
    const [, stamp, value = ''] = DUMP_STAMP.exec(line) ?? []
    if (stamp === undefined) return DUMP_HEAD_LINE.test(line)
    put(dumpManager, stamp, value, number)
    return true
  }

  function take(line: string, number: number): void {
    if (line === '') {
      if (open?.format === 'show') close()
      return
    }
    if (line.startsWith('\t')) {
      if (open?.format === 'dump') putDumpField(touched(open), line, number)
      else if (!inJobs) problems.add('unparsed', number)
      return
    }
    const equals = line.indexOf('=')
    if (equals > 0 && SHOW_KEY.test(line.slice(0, equals))) {
      const key = line.slice(0, equals)
      const block = touched(open?.format === 'show' ? open : begin('show', number))
      if (SHOW_KEYS.has(key)) put(block, key, line.slice(equals + 1), number)
      return
    }
    if (takeHeader(line, number) || takeDumpHead(line, number)) return
    problems.add('unparsed', number)
    if (open !== undefined) open.foreign = true
  }

  function lose(head: string, number: number): void {
    if (open?.format === 'dump' && /^[^\t]/.test(head)) {
      // A header may have been torn: what follows belongs to no unit that is known.
      close()
      return
    }
    const begins = SHOW_KEY_BEGUN.test(head)
    const key = /^\t([^:\t]+):/.exec(head)?.[1] ?? /^([A-Z][A-Za-z0-9]*)=/.exec(head)?.[1]
    const block = open ?? (begins ? begin('show', number) : undefined)
    if (block === undefined) return
    if (key !== undefined) block.lost.add(key)
    // Anything else, such as the prompt of a shell, is no beginning of a line of the block.
    else if (head === '' || begins || head.startsWith('\t')) block.holed = true
  }

  const { lines } = readTextLines(input, problems, take, lose)
  close()
  if (dumpManager.fields.size > 0) blocks.push(dumpManager)
  return { blocks, lines, problems }
}

/** A line of a block came: foreign text before it may have taken another one away. */
function touched(block: OpenBlock): OpenBlock {
  block.holed ||= block.foreign
  return block
}

function putDumpField(block: OpenBlock, line: string, number: number): void {
  if (!DUMP_INITIALS.has(line.charCodeAt(1))) return
  const colon = line.indexOf(': ', 1)
  if (colon === -1) return
  const key = line.slice(1, colon)
  if (DUMP_KEYS.has(key)) put(block, key, line.slice(colon + 2), number)
}

function put(block: OpenBlock, key: string, value: string, line: number): void {
  const field = block.fields.get(key)
  if (field === undefined) block.fields.set(key, { values: [value], line })
  else if (block.format === 'dump' && REPEATED.has(key)) field.values.push(value)
  // Two blocks ran into one another, since the blank line between them was lost.
  else block.lost.add(key)
}
