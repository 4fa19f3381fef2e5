import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { processStat } from '../../src/proc.ts'

/** An empty state root; removed when the test ends. */
export function emptyRoot(): string {
  const root = mkdtempSync(join(tmpdir(), 'boxlab-sweep-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  return root
}

/** Puts a record as the runtime leaves it after the spawn of the engine; gives its folder. */
export function putRecord(root: string, id: string, parts: object = {}): string {
  const record = beginRecord(root, id)
  const boot = {
    version: 1,
    boxId: id,
    host: { cpuModel: 'Example CPU', cpus: 2, memoryMib: 8192, kernel: '6.12.0', loadavg1: 0.25 },
    startedAt: new Date(Date.now() - 300_000).toISOString(),
    startNs: 81_000_000_000,
    outcome: 'running',
    ...parts,
  }
  writeFileSync(join(record, 'boot.json'), JSON.stringify(boot, null, 2))
  return record
}

/** Puts a record that has no boot.json yet. */
export function beginRecord(root: string, id: string): string {
  const record = join(root, 'records', id)
  mkdirSync(join(record, 'guest'), { recursive: true })
  writeFileSync(join(record, 'marks.jsonl'), '{"mark":"start","source":"harness","clock":"host","atNs":81000000000}\n')
  return record
}

/** What its boot.json says. */
export function bootOf(record: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(record, 'boot.json'), 'utf8')) as Record<string, unknown>
}

/** The owner as boot.json names it. */
export function ownerOf(pid: number): { pid: number; startTicks: number; pidNamespace: number; bootId: string } {
  return { pid, startTicks: Number(processStat(pid)?.startTicks), ...here() }
}

/** This pid namespace and this boot of the machine. */
export function here(): { pidNamespace: number; bootId: string } {
  return {
    pidNamespace: statSync('/proc/self/ns/pid').ino,
    bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
  }
}

/** An owner that was killed and reaped. */
export async function deadOwner(): Promise<ReturnType<typeof ownerOf>> {
  const child = livingProcess()
  const owner = ownerOf(child.pid as number)
  child.kill('SIGKILL')
  await once(child, 'exit')
  return owner
}

/** A process with the given arguments after its own; it is killed when the test ends. */
export function livingProcess(...args: readonly string[]): ChildProcess {
  const child = spawn('/bin/sh', ['-c', 'echo; read line', ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Makes a record look as if nothing had touched it for two hours: beyond all grace. */
export function makeOld(record: string): void {
  const then = Date.now() / 1000 - 7200
  for (const name of readdirSync(record)) utimesSync(join(record, name), then, then)
  utimesSync(record, then, then)
}
