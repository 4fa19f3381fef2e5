/** The server's version line, and what it said before (RFC 4253, 4.2). */
export interface Banner {
  /** Takes bytes; gives the version line with the time of its first byte, once. */
  take(bytes: Buffer, atNs: bigint): { readonly text: string; readonly atNs: bigint } | undefined
  /** Lines before the version line, or in its place. */
  readonly said: string
}

/** More than any server says before its version; what comes after is a stranger's. */
const limitBytes = 8192

/** Looks for the server's version line at the beginning of a stream. */
export function bannerOf(): Banner {
  let text = ''
  let beganNs: bigint | undefined
  let found = false
  return {
    take(bytes, atNs) {
      if (found || text.length > limitBytes) return undefined
      text += bytes.toString('latin1')
      if (/(?:^|\n)SSH-/.test(text)) beganNs ??= atNs
      const line = /(?:^|\n)(SSH-[^\r\n]*)\r?\n/.exec(text)?.[1]
      if (line === undefined || beganNs === undefined) return undefined
      found = true
      return { text: line, atNs: beganNs }
    },
    get said() {
      return text
        .replace(/(?:^|\n)SSH-[^]*$/, '')
        .trim()
        .slice(0, 500)
    },
  }
}
