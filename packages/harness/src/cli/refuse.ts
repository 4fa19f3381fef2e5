/** Says in one sentence why nothing was done; the exit code of that. */
export function refuse(problem: string): 2 {
  process.stderr.write(`boxlab: ${problem}\n`)
  return 2
}
