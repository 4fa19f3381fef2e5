import { execFileSync } from 'node:child_process'
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hostBefore, hostSince } from '../../src/failure/host-memory.ts'
import { kernelLogSince } from '../../src/failure/kernel-log.ts'

function may(path: string, how: number): boolean {
  try {
    accessSync(path, how)
    return true
  } catch {
    return false
  }
}

describe("the host's memory", () => {
  it('is what can be given out, and no more than there is', () => {
    const total = Number(/^MemTotal: +(\d+)/m.exec(readFileSync('/proc/meminfo', 'latin1'))?.[1]) / 1024
    const { availableMib } = hostBefore()
    expect(availableMib).toBeGreaterThan(0)
    expect(availableMib).toBeLessThanOrEqual(total)
  })

  it('counts kills since a look, of the whole host at least', () => {
    const before = hostBefore()
    expect([...before.oomKills.keys()]).toContain('/proc/vmstat')
    const fewer = new Map(
      [...before.oomKills].map(([path, count]) => [path, path === '/proc/vmstat' ? count - 2 : count]),
    )
    expect(hostSince({ ...before, oomKills: fewer }, { log: false }).oomKills).toBe(2)
  })

  it('says nothing of a counter that it has no earlier value of', () => {
    const before = hostBefore()
    expect(hostSince({ ...before, oomKills: new Map() }, { log: false })).toEqual({ availableMib: before.availableMib })
    // Another cgroup than before: its counter went back.
    const more = new Map([...before.oomKills.keys()].map((path) => [path, 1e9]))
    expect(hostSince({ ...before, oomKills: more }, { log: false })).not.toHaveProperty('oomKills')
  })
})

describe("the host's kernel log", () => {
  it('gives the lines since an instant where it may be read, and else is undefined', () => {
    const sinceNs = Number(process.hrtime.bigint())
    const word = `boxlab test ${process.pid} ${sinceNs}`
    // A line without its end can still be continued, and is not shown yet.
    const written = may('/dev/kmsg', constants.W_OK)
    if (written) writeFileSync('/dev/kmsg', `${word}\n`)
    const log = kernelLogSince(sinceNs)
    // Where it may not be read is not in its mode: kernel.dmesg_restrict refuses too.
    expect(log?.split('\n').includes(word) ?? false).toBe(written && log !== undefined)
    expect(kernelLogSince(sinceNs + 3600e9) ?? '').not.toContain(word)
  })

  it('never waits for more', () => {
    const folder = mkdtempSync(join(tmpdir(), 'boxlab-log-'))
    const pipe = join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    expect(kernelLogSince(0, pipe)).toBe('')
    expect(kernelLogSince(0, join(folder, 'none'))).toBeUndefined()
    rmSync(folder, { recursive: true })
  })
})
