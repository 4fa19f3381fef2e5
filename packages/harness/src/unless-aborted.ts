/**
 * The result of `work`, unless the signal fires first: then it rejects with what `failure` gives, by default the signal's
 * reason, and nobody waits for `work` any more.
 */
export async function unlessAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
  failure: () => unknown = () => signal?.reason,
): Promise<Result> {
  const ended = Promise.withResolvers<never>()
  const end = (): void => ended.reject(failure())
  signal?.addEventListener('abort', end)
  if (signal?.aborted) end()
  try {
    return await Promise.race([work, ended.promise])
  } finally {
    signal?.removeEventListener('abort', end)
  }
}
