/** Microseconds as milliseconds with three decimals: nothing is rounded away, so that printed parts add up. */
export function exactMs(us: number): string {
  return (us / 1000).toFixed(3)
}
