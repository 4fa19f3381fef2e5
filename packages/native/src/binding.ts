/**
 * The addon as Rust makes it, typed by hand: the narrow, private seam. Structures cross as JSON, bytes as buffers, host
 * times as BigInt nanoseconds. `test/binding.test.ts` holds this file against the addon.
 */

/** One stream of bytes to or from the guest. */
export interface NativeStream {
  read(): Promise<Buffer | null>
  write(bytes: Buffer): Promise<void>
  end(): Promise<void>
}

/** A running command. */
export interface NativeExec {
  readonly pid: number
  stdin(): NativeStream
  stdout(): NativeStream
  stderr(): NativeStream | null
  wait(): Promise<string>
  signal(signal: number): void
  resize(rows: number, cols: number): void
  kill(): void
}

/** One box. */
export interface NativeBox {
  mark(mark: string, atNs: bigint): void
  boot(planJson: string): Promise<void>
  stop(): Promise<string>
  kill(): void
  becomeReady(atNs: bigint): void
  giveUp(code: string, message: string): Promise<void>
  state(): string
  pid(): number | null
  marks(since: number): string
  bootJson(): string
  consoleTail(): string
  usage(): string | null
  count(mark?: string): void
  countKvm(): Promise<void>
  commands(): [executed: number, errors: number]
  waitMark(mark: string, timeoutMs: number): Promise<string>
  waitBeyond(index: number, timeoutMs: number): Promise<void>
  consoleLength(): number
  waitConsole(length: number, timeoutMs: number): Promise<number>
  waitExit(): Promise<string>
  exec(requestJson: string): Promise<NativeExec>
  stat(path: string, limitMs: number): Promise<string>
  readFile(path: string, limitMs: number): Promise<Buffer>
  writeFile(path: string, bytes: Buffer, mode: number, limitMs: number): Promise<void>
  copyIn(from: string, to: string, limitMs: number): Promise<void>
  copyOut(from: string, to: string, limitMs: number): Promise<void>
  dial(port: number, limitMs: number): Promise<NativeStream>
  systemdProperties(unit: string | null, limitMs: number): Promise<string>
  memoryMap(): Promise<string[]>
  systemdText(what: string, limitMs: number): Promise<Buffer>
  systemdWatch(unit: string | null): Promise<NativeWatch>
  systemdMark(mark: string, atUs: bigint): void
  pings(count: number): Promise<string>
}

/** A watch of a unit or of systemd's manager. */
export interface NativeWatch {
  next(): Promise<string>
  end(): void
}

/** A place in the ledger of boots. */
export interface NativeTurn {
  ask(): string
  leave(): void
}

/** Everything the addon exports. */
export interface Addon {
  readonly NativeBox: new (orderJson: string, startNs: bigint, turn: NativeTurn | null) => NativeBox
  readonly NativeTurn: new (dir: string, claimJson: string, limitsJson: string) => NativeTurn
  ledgerEntries(dir: string): string
  defaultMemoryMib(): number
  nativeVersion(): string
  hostTscKhz(): number
  runtimeMetrics(): string
  runningBoxes(): string
  kvmPreflight(kvmPath: string): Promise<string>
  fileSha256(path: string): Promise<string>
}
