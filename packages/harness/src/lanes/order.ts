/** Numbers from 0 to 1 that a seed decides (xorshift32; G. Marsaglia, Xorshift RNGs, 2003). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

/**
 * For each pair, whether the box goes first. Pairs come in blocks of two, each block box-plain-plain-box or the other
 * way round by lot: a drift of the host over a block hits both arms alike, and nothing periodic keeps in step.
 */
export function pairOrder(pairs: number, random: () => number): boolean[] {
  const blocks = Array.from({ length: Math.ceil(pairs / 2) }, () => random() < 0.5)
  return blocks.flatMap((first) => [first, !first]).slice(0, pairs)
}
