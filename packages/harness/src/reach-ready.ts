import { BoxError, type Machine } from '@boxlab/native'
import type { ExecDefaults } from './exec.ts'
import type { RootImage } from './images/root-image.ts'
import { recordKernelLog } from './initcalls/kernel-log.ts'
import type { BoxOptions } from './options.ts'
import type { Planned } from './plan.ts'
import { recordMemoryMap } from './reports/record-mmio.ts'
import { type Entrypoint, startEntrypoint } from './stage0/entrypoint.ts'
import { initReady } from './stage0/init-ready.ts'
import { followJournal } from './stage0/journal.ts'
import { SystemdMarks } from './stage0/systemd-marks.ts'
import { verifyInGuest } from './stage0/verify.ts'
import { recordText, recordUnits } from './systemd/record-texts.ts'
import { tellQueue } from './systemd/tell-queue.ts'
import { Wait, waitFor } from './wait/index.ts'

/** An emulated guest takes seconds to tell of two hundred units. */
const systemdMs = 60_000
const kernelLogMs = 60_000

/** A planned box on its way to ready. */
export interface Boot {
  readonly machine: Machine
  readonly planned: Planned
  readonly options: BoxOptions
  /** The folder of its record, and the bound of each of its files in bytes. */
  readonly record: string
  readonly limitBytes: number
  readonly defaults: ExecDefaults
}

/** A box that is ready. */
export interface Ready {
  /** The marks of its systemd, of which some may be still to come; absent where it has none. */
  readonly systemd?: SystemdMarks
  /** Rejects when the image's process fails; absent where none was started. */
  readonly entrypoint?: Promise<never>
}

/**
 * Boots a plan and follows it until the box is ready and what was asked for took effect. The runtime sees marks and texts
 * of the console itself; any other strategy is followed from here. On an error no engine is left.
 */
export async function reachReady(boot: Boot): Promise<Ready> {
  const { machine, planned, options, record, limitBytes } = boot
  const { plan, root } = planned
  const untilMs = performance.now() + plan.limits.bootMs
  await machine.boot(plan)
  // The kernel has given the functions of PCI their addresses by now.
  if (plan.trace) await recordMemoryMap(machine, record)
  const hasInit = root?.hasInit === true && plan.agent
  if (hasInit && options.record?.journal) void followJournal(machine, record, limitBytes)
  try {
    const context = {
      ...boot,
      watched: planned.watched,
      timeoutMs: Math.max(1, Math.round(untilMs - performance.now())),
    }
    const entrypoint = options.run === 'entrypoint' ? await runEntrypoint(context, root) : undefined
    if (!entrypoint && plan.ready === undefined) {
      const { atNs } = await (options.waitFor ? waitFor(options.waitFor, context) : initReady(context))
      machine.becomeReady(atNs)
    }
    if (plan.agent) await verifyInGuest(machine, options)
    // Without the log the boot could not be judged: it fails.
    if (options.record?.initcalls) await recordKernelLog(machine, record, { limitMs: kernelLogMs, limitBytes })
    const systemd = hasInit ? new SystemdMarks(machine) : undefined
    if (systemd && (await isServed(machine))) {
      await systemd.read()
      await recordSystemd(boot)
    }
    return { ...(systemd && { systemd }), ...(entrypoint && { entrypoint: entrypoint.failed }) }
  } catch (thrown) {
    if (hasInit && thrown instanceof BoxError && thrown.code === 'ERR_BOX_TIMEOUT') {
      await tellQueue(thrown, machine, record, { limitBytes, jobs: options.record?.jobs })
    }
    const { code = 'ERR_BOX_UNKNOWN', message } = thrown as { readonly code?: string; readonly message: string }
    await machine.giveUp(code, thrown instanceof BoxError ? thrown.summary : message)
    throw thrown
  }
}

/**
 * PID 1 is a systemd that takes questions: its private socket is there. A box may be ready long before that, by its agent;
 * asking then would keep it until systemd is up.
 */
async function isServed(machine: Machine): Promise<boolean> {
  try {
    await machine.stat('/run/systemd/private', systemdMs)
    return true
  } catch (error) {
    if (error instanceof BoxError && error.code === 'ERR_BOX_REFUSED') return false
    throw error
  }
}

/** What systemd is asked for where the record shall have it. Without that the boot could not be judged: it fails. */
async function recordSystemd({ machine, options, record, limitBytes }: Boot): Promise<void> {
  const { waits, jobs } = options.record ?? {}
  const bounds = { limitMs: systemdMs, limitBytes }
  if (jobs) await recordText(machine, record, 'jobs', bounds)
  if (jobs || waits) await recordUnits(machine, record, bounds)
}

/** The image's process runs, and what is waited for comes before it fails. */
async function runEntrypoint(
  context: Boot & { readonly timeoutMs: number },
  root: RootImage | undefined,
): Promise<Pick<Entrypoint, 'failed'>> {
  const { machine, options } = context
  if (!root || root.hasInit) {
    const message =
      "`run: 'entrypoint'` needs an image without an init: this one has one, which runs what it is told to"
    throw new BoxError('ERR_BOX_OPTIONS', message)
  }
  const { failed } = await startEntrypoint(machine, root, context)
  const { atNs } = await Promise.race([waitFor(options.waitFor ?? Wait.forMark('process-ready'), context), failed])
  machine.becomeReady(atNs)
  return { failed }
}
