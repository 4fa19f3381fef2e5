/** Two digits or so: how long ago, not how long exactly. */
export function ageText(ageMs: number): string {
  const seconds = Math.floor(ageMs / 1000)
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}
