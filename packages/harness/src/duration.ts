const unitsMs = { ms: 1, s: 1000, m: 60_000 } as const

/** Reads a time: a number of milliseconds, or a text such as `500ms`, `1.5s`, `2m`. `name` is for the refusal. */
export function durationMs(value: number | string, name: string): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(String(value)) ?? []
  if (amount !== undefined && unit !== undefined) return Number(amount) * unitsMs[unit as keyof typeof unitsMs]
  throw new TypeError(`\`${name}\` must be milliseconds or a text such as '500ms', '1.5s' or '2m', not '${value}'`)
}
