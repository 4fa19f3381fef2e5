import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { hostPreflight } from '../../src/preflight/index.ts'
import { bootDisk } from '../fixtures/boot-sector.ts'
import { temporaryFolder } from '../images/temporary-folder.ts'
import { boxlabCommand, type Running, runBoxlab, startBoxlab } from './run-boxlab.ts'

let folder = ''
let record = ''
let firmware: readonly string[] = []

beforeEach(async () => {
  folder = await temporaryFolder()
  record = join(folder, 'record')
  const disk = join(folder, 'disk.img')
  await writeFile(disk, bootDisk('hello from firmware\r\n'))
  firmware = ['boot', '--firmware-disk', disk, '--record', record]
})

/** The engine's process id of a held box. */
async function heldPid(running: Running): Promise<number> {
  await running.printed('Ctrl-C stops it')
  return Number(/pid (\d+)/.exec(running.stdout())?.[1])
}

async function outcomeOf(folderOfRecord: string): Promise<unknown> {
  return (JSON.parse(await readFile(join(folderOfRecord, 'boot.json'), 'utf8')) as { outcome: unknown }).outcome
}

/** The processes whose working directory is the box's. */
function processesIn(folderOfRecord: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`).startsWith(folderOfRecord)
    } catch {
      return false
    }
  })
}

describe('a firmware box', () => {
  test('shows its marks as they come, then the table, and keeps the record', async () => {
    const { code, stdout, stderr } = await runBoxlab([
      ...firmware,
      '--accel',
      'tcg',
      '--wait-console',
      'hello from firmware',
    ])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^start +\+0\.0 ms {2}harness\n/)
    expect(stdout).toMatch(/^vm-start +\+\d+\.\d ms {2}qmp$/m)
    expect(stdout.indexOf('vm-start')).toBeLessThan(stdout.indexOf('from start ms'))
    expect(stdout).toMatch(/^accelerator: tcg; asked tcg: /m)
    expect(stdout).toContain(`record: ${record}\n`)
    expect(stdout).not.toContain('\u001b')
    expect(await outcomeOf(record)).toBe('stopped')
  })

  test('as JSON is one object and nothing else', async () => {
    const { code, stdout, stderr } = await runBoxlab([...firmware, '--accel', 'tcg', '--json'])
    expect([code, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toMatchObject({
      format: 'boxlab-boot',
      version: 1,
      box: { state: 'stopped', record, accelerator: { asked: 'tcg', planned: 'tcg', proved: 'tcg' } },
      commands: [],
      timeline: { box: { kind: 'firmware' } },
    })
  })

  test('under auto says which accelerator it got and why', async () => {
    const { verdict } = await hostPreflight()
    const { code, stdout } = await runBoxlab(firmware)
    expect(code).toBe(0)
    expect(stdout).toMatch(
      {
        unusable: /^accelerator: tcg; asked auto: KVM cannot/m,
        emulated: /^accelerator: tcg; asked auto: .* emulates guest code/m,
        native: /^accelerator: kvm; asked auto: /m,
      }[verdict],
    )
  })

  test('under kvm is refused where KVM is hidden, in a sentence with the remedy', async () => {
    const { code, stderr } = await runBoxlab([...firmware, '--accel', 'kvm'], {
      env: { BOXLAB_KVM: '/nonexistent/kvm' },
    })
    expect(code).toBe(1)
    expect(stderr).toMatch(/`accel: 'kvm'` cannot be had here: .*ENOENT.*modprobe/)
  })

  test('that does not become ready exits with 1, the error and what of the table there is', async () => {
    const { code, stdout, stderr } = await runBoxlab([
      ...firmware,
      '--accel',
      'tcg',
      '--wait-console',
      'never',
      '--timeout',
      '1500',
    ])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^boxlab: .*did not come within 1500 ms/)
    expect(stdout).toMatch(/^engine-init /m)
    expect(stdout).toMatch(/^firmware .* died /m)
    expect(stdout).toContain(`record: ${record}\n`)
    expect(await outcomeOf(record)).toBe('failed')
  })

  test('is held until Ctrl-C, and its process is gone then', async () => {
    const running = startBoxlab([...firmware, '--accel', 'tcg', '--hold'])
    const pid = await heldPid(running)
    expect(existsSync(`/proc/${pid}`)).toBe(true)
    expect(running.stdout()).toMatch(/from start ms[^]*still running/)
    running.child.kill('SIGINT')
    expect(await running.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/stopped \(.*\)\n$/) })
    expect(existsSync(`/proc/${pid}`)).toBe(false)
    expect(await outcomeOf(record)).toBe('stopped')
  })

  test('that is held and ends by itself is reported, with 1', async () => {
    const running = startBoxlab([...firmware, '--accel', 'tcg', '--hold'])
    process.kill(await heldPid(running), 'SIGKILL')
    expect(await running.ended).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/ended by itself \(signal 9\)/),
    })
  })

  test.for([['SIGINT', 130] as const, ['SIGTERM', 143] as const])(
    'whose boot gets %s is gone, with %i',
    async ([signal, expected]) => {
      const running = startBoxlab([...firmware, '--accel', 'tcg', '--wait-console', 'never'])
      await running.printed('vm-start')
      expect(processesIn(record)).toHaveLength(1)
      running.child.kill(signal)
      const { code, stderr } = await running.ended
      expect([code, stderr]).toEqual([expected, `boxlab: the boot was interrupted by ${signal}; the box is gone\n`])
      expect(processesIn(record)).toEqual([])
    },
  )

  test('dies with its command line, also when that is killed', async () => {
    const running = startBoxlab([...firmware, '--accel', 'tcg', '--hold'])
    const pid = await heldPid(running)
    running.child.kill('SIGKILL')
    await running.ended
    for (let round = 0; existsSync(`/proc/${pid}`) && round < 100; round++) await sleep(20)
    expect(existsSync(`/proc/${pid}`)).toBe(false)
  })
})

describe('a Linux box', () => {
  test('boots, runs its lines, and stops', async () => {
    const lines = ['--exec', 'cat /proc/cmdline', '--exec', 'echo to stderr >&2; nproc']
    const flags = ['--record', record, '--memory', '256', '--cpus', '2', '--cmdline', 'hello=world']
    const { code, stdout, stderr } = await runBoxlab(['boot', ...flags, ...lines])
    expect([code, stderr]).toEqual([0, 'to stderr\n'])
    expect(stdout).toMatch(/ hello=world\n2\n/)
    expect(stdout).toMatch(/^kernel +\d+\.\d( ±\d+\.\d)? +\d+\.\d/m)
    expect(stdout).toMatch(/guest\s+kernel\s+\d+\.\d+/)
    expect(await outcomeOf(record)).toBe('stopped')
  })

  test('whose line fails runs no further line and exits with 1', async () => {
    const { code, stdout } = await runBoxlab([
      'boot',
      '--record',
      record,
      '--json',
      '--exec',
      'echo out; exit 3',
      '--exec',
      'echo next',
    ])
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      commands: [
        {
          line: 'echo out; exit 3',
          stdout: 'out\n',
          stderr: '',
          exitCode: 3,
          failure: '`echo out; exit 3` exited with code 3',
        },
      ],
    })
    expect((JSON.parse(stdout) as { commands: unknown[] }).commands).toHaveLength(1)
  })

  test('that hangs while it is stopped is killed by a second Ctrl-C', async () => {
    const running = startBoxlab(['boot', '--record', record, '--hold'])
    const pid = await heldPid(running)
    process.kill(pid, 'SIGSTOP')
    running.child.kill('SIGINT')
    await running.printed('stopping box')
    const startMs = performance.now()
    running.child.kill('SIGINT')
    expect(await running.ended).toMatchObject({ code: 0 })
    // Far below the ten seconds that its agent alone would be given.
    expect(performance.now() - startMs).toBeLessThan(8_000)
    expect(existsSync(`/proc/${pid}`)).toBe(false)
  })

  test('on a terminal is a table that is drawn again while it boots', async () => {
    const [file, ...args] = boxlabCommand(['boot', '--record', record])
    const line = [file, ...args].map((word) => `'${word}'`).join(' ')
    const out = execFileSync(
      'script',
      ['--quiet', '--return', '--command', `stty cols 110 rows 50; ${line}`, '/dev/null'],
      {
        encoding: 'utf8',
        env: { ...process.env, TERM: 'xterm-256color', CI: '', NO_COLOR: '' },
      },
    )
    // oxlint-disable-next-line no-control-regex -- cursor movements are control sequences
    const frames = out.split(/\u001b\[\d+A\u001b\[J/)
    expect(frames.length).toBeGreaterThan(5)
    expect(frames.at(-2)).toMatch(/booting for \d+\.\d s/)
    expect(frames.at(-1)).not.toMatch(/booting for/)
    expect(frames.at(-1)).toMatch(/^record: /m)
    for (const frame of frames.slice(1, -1)) {
      // oxlint-disable-next-line no-control-regex -- colours are control sequences
      const lines = frame.replace(/\u001b\[[\d;]*m/g, '').split('\r\n')
      expect(lines.filter((one) => one.length > 110)).toEqual([])
    }
  })
})
