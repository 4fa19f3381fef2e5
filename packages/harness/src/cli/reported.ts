/** Runs a command; what cannot be done is one sentence and exit code 1. */
export async function reported(run: () => 0 | 1 | Promise<0 | 1>): Promise<void> {
  try {
    process.exitCode = await run()
  } catch (error) {
    process.stderr.write(`boxlab: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}
