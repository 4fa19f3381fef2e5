/** The offset after the first appearance of a text; absent where there is none. */
export function findMarker(bytes: Buffer, marker: string): number | undefined {
  const at = bytes.indexOf(marker)
  return at < 0 ? undefined : at + Buffer.byteLength(marker)
}
