import { asDisplayText } from '../kernel/terminal.ts'

/** A span of a row, in us after the origin. */
export interface WaterfallBar {
  readonly startUs: number
  readonly endUs: number
  /** Names the colour. */
  readonly kind: string
  /** Shown where the pointer rests. */
  readonly title: string
}

/** A row: its bars may touch and may not overlap. */
export interface WaterfallRow {
  readonly label: string
  readonly bars: readonly WaterfallBar[]
}

/** A waterfall: rows over one axis of time. */
export interface Waterfall {
  readonly title: string
  readonly rows: readonly WaterfallRow[]
  /** Times that concern every row, such as gaps; drawn behind the rows. */
  readonly bands: readonly WaterfallBar[]
  /** Instants with a name, such as the target. */
  readonly marks: readonly { readonly atUs: number; readonly label: string }[]
  /** Kinds in the order of the legend, with their colours (any CSS colour) and what they mean. */
  readonly kinds: readonly { readonly kind: string; readonly colour: string; readonly meaning: string }[]
}

const ROW = 18
const BAR = 12
const PLOT = 900
const CHAR = 6.6
const PAD = 12
const HEAD = 58

/**
 * Draws a waterfall as one SVG document without scripts or outside references: it can be a file, an attachment or part of a
 * page. Bars of no length are drawn as a line, so that nothing that happened is invisible.
 */
export function drawWaterfall({ title, rows, bands, marks, kinds }: Waterfall): string {
  const times = [...rows.flatMap(({ bars }) => bars), ...bands].flatMap(({ startUs, endUs }) => [startUs, endUs])
  const lastUs = Math.max(1, ...times, ...marks.map(({ atUs }) => atUs))
  const left = PAD + Math.ceil(Math.max(8, ...rows.map(({ label }) => label.length)) * CHAR) + 8
  const x = (us: number): number => left + (Math.max(0, us) / lastUs) * PLOT
  const bottom = HEAD + rows.length * ROW
  const width = left + PLOT + 60
  const height = bottom + 24
  const colours = new Map(kinds.map(({ kind, colour }) => [kind, colour]))
  const bar = (one: WaterfallBar, y: number, tall: number): string => {
    const wide = Math.max(0.5, x(one.endUs) - x(one.startUs))
    const shape = `x="${round(x(one.startUs))}" y="${y}" width="${round(wide)}" height="${tall}"`
    return `<rect ${shape} fill="${colours.get(one.kind) ?? '#888'}"><title>${escape(one.title)}</title></rect>`
  }
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, monospace" font-size="11">`,
    `<title>${escape(title)}</title>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${PAD}" y="18" font-size="13">${escape(title)}</text>`,
    ...legend(kinds),
    ...bands.map((band) => bar(band, HEAD, rows.length * ROW)),
    ...axis(lastUs, x, bottom),
    ...rows.flatMap(({ label, bars }, index) => {
      const y = HEAD + index * ROW
      const text = `<text x="${left - 8}" y="${y + BAR}" text-anchor="end">${escape(label)}</text>`
      return [text, ...bars.map((one) => bar(one, y + 3, BAR))]
    }),
    ...marks.map(({ atUs, label }) => {
      const line = `<line x1="${round(x(atUs))}" x2="${round(x(atUs))}" y1="${HEAD - 4}" y2="${bottom}" stroke="#c00"/>`
      return `${line}<text x="${round(x(atUs))}" y="${HEAD - 7}" text-anchor="end" fill="#c00">${escape(label)}</text>`
    }),
    '</svg>',
  ]
  return `${parts.join('\n')}\n`
}

function legend(kinds: Waterfall['kinds']): string[] {
  let at = PAD
  return kinds.map(({ colour, meaning }) => {
    const text = `<rect x="${at}" y="27" width="10" height="10" fill="${colour}"/><text x="${at + 14}" y="36">${escape(meaning)}</text>`
    at += 14 + Math.ceil(meaning.length * CHAR) + 16
    return text
  })
}

/** About eight steps of 1, 2 or 5 times a power of ten. */
function axis(lastUs: number, x: (us: number) => number, bottom: number): string[] {
  const rough = lastUs / 8
  const power = 10 ** Math.floor(Math.log10(rough))
  const stepUs = Math.max(1, [1, 2, 5, 10].map((times) => times * power).find((step) => step >= rough) ?? power)
  const steps = Array.from({ length: Math.floor(lastUs / stepUs) + 1 }, (_, index) => index * stepUs)
  return steps.map((us) => {
    const line = `<line x1="${round(x(us))}" x2="${round(x(us))}" y1="${HEAD}" y2="${bottom}" stroke="#ddd"/>`
    return `${line}<text x="${round(x(us))}" y="${bottom + 14}" text-anchor="middle" fill="#555">${timeText(us, stepUs)}</text>`
  })
}

function timeText(us: number, stepUs: number): string {
  if (stepUs >= 100_000) return `${(us / 1e6).toFixed(1)} s`
  return stepUs >= 100 ? `${(us / 1000).toFixed(1)} ms` : `${us} µs`
}

function round(value: number): string {
  return value.toFixed(2)
}

function escape(text: string): string {
  return asDisplayText(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
