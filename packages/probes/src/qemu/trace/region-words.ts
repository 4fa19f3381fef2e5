// The words of a line, compared byte by byte: these lines are nearly all of a trace, and a loop over each word takes half as
// long again. None holds a line feed, so nothing is looked at behind the end of a line.

/** `memory_region_` stands at `i`. */
export function standsRegion(b: Uint8Array, i: number): boolean {
  return (
    b[i] === 0x6d &&
    b[i + 1] === 0x65 &&
    b[i + 2] === 0x6d &&
    b[i + 3] === 0x6f &&
    b[i + 4] === 0x72 &&
    b[i + 5] === 0x79 &&
    b[i + 6] === 0x5f &&
    b[i + 7] === 0x72 &&
    b[i + 8] === 0x65 &&
    b[i + 9] === 0x67 &&
    b[i + 10] === 0x69 &&
    b[i + 11] === 0x6f &&
    b[i + 12] === 0x6e &&
    b[i + 13] === 0x5f
  )
}

/** `ops_` stands at `i`. */
export function standsOps(b: Uint8Array, i: number): boolean {
  return b[i] === 0x6f && b[i + 1] === 0x70 && b[i + 2] === 0x73 && b[i + 3] === 0x5f
}

/** `subpage_` stands at `i`. */
export function standsSubpage(b: Uint8Array, i: number): boolean {
  return (
    b[i] === 0x73 &&
    b[i + 1] === 0x75 &&
    b[i + 2] === 0x62 &&
    b[i + 3] === 0x70 &&
    b[i + 4] === 0x61 &&
    b[i + 5] === 0x67 &&
    b[i + 6] === 0x65 &&
    b[i + 7] === 0x5f
  )
}

/** `ram_device_` stands at `i`. */
export function standsRamDevice(b: Uint8Array, i: number): boolean {
  return (
    b[i] === 0x72 &&
    b[i + 1] === 0x61 &&
    b[i + 2] === 0x6d &&
    b[i + 3] === 0x5f &&
    b[i + 4] === 0x64 &&
    b[i + 5] === 0x65 &&
    b[i + 6] === 0x76 &&
    b[i + 7] === 0x69 &&
    b[i + 8] === 0x63 &&
    b[i + 9] === 0x65 &&
    b[i + 10] === 0x5f
  )
}

/** `read` stands at `i`. */
export function standsRead(b: Uint8Array, i: number): boolean {
  return b[i] === 0x72 && b[i + 1] === 0x65 && b[i + 2] === 0x61 && b[i + 3] === 0x64
}

/** `write` stands at `i`. */
export function standsWrite(b: Uint8Array, i: number): boolean {
  return b[i] === 0x77 && b[i + 1] === 0x72 && b[i + 2] === 0x69 && b[i + 3] === 0x74 && b[i + 4] === 0x65
}

/** ` cpu ` stands at `i`. */
export function standsCpu(b: Uint8Array, i: number): boolean {
  return b[i] === 0x20 && b[i + 1] === 0x63 && b[i + 2] === 0x70 && b[i + 3] === 0x75 && b[i + 4] === 0x20
}

/** ` mr 0x` stands at `i`. */
export function standsMr(b: Uint8Array, i: number): boolean {
  return (
    b[i] === 0x20 &&
    b[i + 1] === 0x6d &&
    b[i + 2] === 0x72 &&
    b[i + 3] === 0x20 &&
    b[i + 4] === 0x30 &&
    b[i + 5] === 0x78
  )
}

/** ` addr 0x` stands at `i`. */
export function standsAddr(b: Uint8Array, i: number): boolean {
  return (
    b[i] === 0x20 &&
    b[i + 1] === 0x61 &&
    b[i + 2] === 0x64 &&
    b[i + 3] === 0x64 &&
    b[i + 4] === 0x72 &&
    b[i + 5] === 0x20 &&
    b[i + 6] === 0x30 &&
    b[i + 7] === 0x78
  )
}

/** ` offset 0x` stands at `i`. */
export function standsOffset(b: Uint8Array, i: number): boolean {
  return (
    b[i] === 0x20 &&
    b[i + 1] === 0x6f &&
    b[i + 2] === 0x66 &&
    b[i + 3] === 0x66 &&
    b[i + 4] === 0x73 &&
    b[i + 5] === 0x65 &&
    b[i + 6] === 0x74 &&
    b[i + 7] === 0x20 &&
    b[i + 8] === 0x30 &&
    b[i + 9] === 0x78
  )
}

/** ` value 0x` stands at `i`. */
export function standsValue(b: Uint8Array, i: number): boolean {
  return (
    b[i] === 0x20 &&
    b[i + 1] === 0x76 &&
    b[i + 2] === 0x61 &&
    b[i + 3] === 0x6c &&
    b[i + 4] === 0x75 &&
    b[i + 5] === 0x65 &&
    b[i + 6] === 0x20 &&
    b[i + 7] === 0x30 &&
    b[i + 8] === 0x78
  )
}

/** ` size ` stands at `i`. */
export function standsSize(b: Uint8Array, i: number): boolean {
  return (
    b[i] === 0x20 &&
    b[i + 1] === 0x73 &&
    b[i + 2] === 0x69 &&
    b[i + 3] === 0x7a &&
    b[i + 4] === 0x65 &&
    b[i + 5] === 0x20
  )
}

/** ` name '` stands at `i`. */
export function standsName(b: Uint8Array, i: number): boolean {
  return (
    b[i] === 0x20 &&
    b[i + 1] === 0x6e &&
    b[i + 2] === 0x61 &&
    b[i + 3] === 0x6d &&
    b[i + 4] === 0x65 &&
    b[i + 5] === 0x20 &&
    b[i + 6] === 0x27
  )
}
