const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** Three digits or so: `232 MiB`. */
export function sizeText(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1024
    unit += 1
  }
  return `${unit === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`
}

/** Reads `500M`, `10GiB`, `0`: units are powers of 1024; undefined for anything else. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?) ?([KMGT]?)(?:i?B)?$/i.exec(text.trim())
  if (!match) return undefined
  const [, number, unit] = match as unknown as [string, string, string]
  return Math.round(Number(number) * 1024 ** ' KMGT'.indexOf(unit.toUpperCase() || ' '))
}
