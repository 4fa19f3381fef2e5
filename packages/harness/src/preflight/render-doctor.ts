import type { AcceleratorChoice } from './accelerator.ts'
import type { DoctorReport } from './doctor.ts'
import type { Finding } from './finding.ts'

/** How a report is drawn. */
export interface DoctorRenderOptions {
  /** Characters a line may have; default 100, at least 60. */
  readonly width?: number
  /** ANSI colours; default false. */
  readonly color?: boolean
}

const colours: { readonly [outcome in Finding['outcome']]: string } = {
  ok: '32',
  limited: '33',
  failed: '31',
  'not-run': '90',
}

const summaries: { readonly [verdict in DoctorReport['verdict']]: string } = {
  ready: 'ready',
  limited: 'usable with limits',
  unusable: 'not usable',
}

/** The report as text: one finding a line with its remedy below, then what boxes get, then the verdict. */
export function renderDoctor(report: DoctorReport, options: DoctorRenderOptions = {}): string {
  const width = Math.max(options.width ?? 100, 60)
  const color = options.color ?? false
  const { host, boxes, verdict } = report
  const labels = report.findings.map(({ title }) => title.length)
  const indent = 11 + Math.max(...labels)
  const shown = report.findings.flatMap((finding) => findingLines(finding, report, { indent, width, color }))
  const model = host.cpuModel ? `${host.cpuModel}, ` : ''
  const lines = [
    ...wrap(`host: ${model}${host.cpus} CPUs, ${host.memoryMib} MiB, Linux ${host.kernel}`, 0, width),
    '',
    ...shown,
    '',
    ...(boxes ? [...boxLines('Linux', boxes.linux, width), ...boxLines('firmware', boxes.firmware, width)] : []),
    ...wrap(verdictLine(report), 0, width).map((line) => paint(line, verdictColour(report), color)),
    ...report.blockers.flatMap((blocker) => wrap(`- ${blocker}`, 4, width, 2)),
    ...report.limits.flatMap((limit) => wrap(`- ${verdict === 'ready' ? 'not required: ' : ''}${limit}`, 4, width, 2)),
  ]
  return `${lines.join('\n')}\n`
}

interface Layout {
  readonly indent: number
  readonly width: number
  readonly color: boolean
}

function findingLines(finding: Finding, report: DoctorReport, { indent, width, color }: Layout): string[] {
  const { id, outcome, title, detail, remedy, level } = finding
  // Nothing that was asked for or that a box needs: neither good nor bad.
  const isAside = level === 'informational' && outcome !== 'ok' && !report.required.some((word) => word === id)
  const label = paint((isAside ? 'info' : outcome).padEnd(9), isAside ? '90' : colours[outcome], color)
  const [first = '', ...rest] = wrap(detail, indent, width)
  const advice = remedy && !isAside ? wrap(`-> ${remedy}`, indent + 3, width, indent) : []
  return [`${label}${title.padEnd(indent - 9)}${first.trimStart()}`, ...rest, ...advice]
}

function boxLines(guest: string, choice: AcceleratorChoice, width: number): string[] {
  const words =
    'accel' in choice ? `${choice.accel.toUpperCase()} (${choice.reason.replace(/\.$/, '')})` : choice.refusal
  return wrap(`${guest} boxes run under ${words}`, 2, width, 0)
}

function verdictLine({ verdict, exitCode, required, durationMs }: DoctorReport): string {
  const asked = required.length > 0 ? ` for ${required.join(', ')}` : ''
  return `verdict: ${summaries[verdict]}${asked} (exit code ${exitCode}, examined in ${Math.round(durationMs)} ms)`
}

function verdictColour({ verdict }: DoctorReport): string {
  return colours[({ ready: 'ok', limited: 'limited', unusable: 'failed' } as const)[verdict]]
}

/** Breaks a text at blanks; every line but the first is indented, and the first where it is said how far. */
function wrap(text: string, indent: number, width: number, first: number = indent): string[] {
  const lines: string[] = []
  let line = ' '.repeat(first)
  for (const word of text.split(' ')) {
    const blank = line.trim() === '' ? '' : ' '
    if (blank && line.length + 1 + word.length > width) {
      lines.push(line)
      line = ' '.repeat(indent) + word
    } else {
      line += blank + word
    }
  }
  return [...lines, line]
}

function paint(text: string, code: string, color: boolean): string {
  return color ? `\u001b[${code}m${text}\u001b[0m` : text
}
