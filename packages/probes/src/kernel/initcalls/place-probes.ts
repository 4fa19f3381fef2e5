import type { LoggedBoot, LoggedCall, LoggedProbe } from './collect-calls.ts'
import type { Probe, ProbeOutcome } from './initcalls-report.ts'
import type { JudgedClock } from './judge-clock.ts'

/** Stamps and printed figures come from two clocks and from two moments. */
const SLACK_US = 1000
/** So close to the beginning of a call, the one before it is not meant. */
const CLOSE_US = 20
/** So many calls may have begun since the one in which an asynchronous probe began. */
const LOOK_BACK = 16
/** Drivers of the serio bus are attached from a workqueue (drivers/input/serio/serio.c), never in the thread of a call. */
const QUEUED = /^serio\d+$/
const ENODEV = 19
const ENXIO = 6
const EPROBE_DEFER = 517

/** The probes of a boot by the place of the call in which their driver was registered. */
export interface PlacedProbes {
  readonly byCall: ReadonlyMap<number, readonly Probe[]>
  readonly alone: readonly Probe[]
}

/**
 * Gives each probe to a call: by the driver, where a message of the device names it and a call has that name; else to the
 * call of its thread that was open when it began; without threads, to the one that was open then. An asynchronous probe may
 * end in the middle of another driver's call, so where it ended does not count.
 */
export function placeProbes(boot: LoggedBoot, clock: JudgedClock): PlacedProbes {
  const { calls, probes } = boot
  const registered = callsByDriver(calls)
  const words = outcomesOf(boot)
  const attempts = new Map<string, number>()
  const byCall = new Map<number, Probe[]>()
  const alone: Probe[] = []
  for (const logged of probes) {
    const exact = clock.exactLine !== undefined && logged.line >= clock.exactLine
    const startUs = exact && logged.atUs !== undefined ? logged.atUs - logged.usecs : undefined
    const outcome = words(logged.returned)
    const driver = logged.driver ?? laterDriver(boot, logged, outcome)
    const found = byDriver(calls, registered.get(driverKey(driver ?? '')), startUs) ?? byTime(calls, logged, startUs)
    const call = found === undefined ? undefined : calls[found.place]
    const attempt = (attempts.get(logged.device) ?? 0) + 1
    attempts.set(logged.device, attempt)
    const probe: Probe = {
      device: logged.device,
      ...(driver !== undefined && { driver }),
      returned: logged.returned,
      ...(outcome !== undefined && { outcome }),
      attempt,
      line: logged.line,
      ...(startUs !== undefined && { startUs }),
      durationUs: logged.usecs,
      ...(!exact && { quantised: true as const }),
      ...(found && { by: found.by }),
      ...(call && isAsynchronous(call, logged) && { asynchronous: true as const }),
    }
    if (found === undefined) alone.push(probe)
    else {
      const placed = byCall.get(found.place)
      if (placed === undefined) byCall.set(found.place, [probe])
      else placed.push(probe)
    }
  }
  return { byCall, alone }
}

interface Found {
  readonly place: number
  readonly by: NonNullable<Probe['by']>
}

function byDriver(calls: readonly LoggedCall[], places: readonly number[] = [], startUs?: number): Found | undefined {
  const place = places.findLast((one) => {
    const { startUs: from } = calls[one] ?? {}
    return startUs === undefined || from === undefined || from <= startUs + SLACK_US
  })
  return place === undefined ? undefined : { place, by: 'driver' }
}

function byTime(
  calls: readonly LoggedCall[],
  { device, open, caller }: LoggedProbe,
  startUs?: number,
): Found | undefined {
  if (QUEUED.test(device)) return undefined
  const begun = (slackUs: number): number[] =>
    open.filter((place) => {
      const from = calls[place]?.startUs
      return startUs === undefined || from === undefined || from <= startUs + slackUs
    })
  const own = caller === undefined ? undefined : begun(SLACK_US).findLast((place) => calls[place]?.caller === caller)
  if (own !== undefined) return { place: own, by: 'thread' }
  const returned = startUs === undefined ? undefined : openAt(calls, startUs)
  const place = begun(CLOSE_US).at(-1) ?? returned ?? begun(SLACK_US).at(-1)
  return place === undefined ? undefined : { place, by: 'time' }
}

/** A call that has returned since and was open at this moment. */
function openAt(calls: readonly LoggedCall[], atUs: number): number | undefined {
  let [low, high] = [0, calls.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((calls[middle]?.startUs ?? 0) <= atUs) low = middle + 1
    else high = middle
  }
  for (let place = low - 1; place >= Math.max(0, low - LOOK_BACK); place -= 1) {
    const { startUs, endUs } = calls[place] ?? {}
    if (startUs !== undefined && startUs <= atUs && endUs !== undefined && endUs >= atUs) return place
  }
  return undefined
}

function isAsynchronous(call: LoggedCall, { device, caller, atUs, line }: LoggedProbe): boolean {
  if (QUEUED.test(device)) return true
  if (caller !== undefined && call.caller !== undefined && caller !== call.caller) return true
  if (call.returnedLine !== undefined && line > call.returnedLine) return true
  return atUs !== undefined && call.endUs !== undefined && atUs > call.endUs
}

/** A device that is bound keeps its driver: what its messages say later is true of the probe. */
function laterDriver({ drivers }: LoggedBoot, probe: LoggedProbe, outcome?: ProbeOutcome): string | undefined {
  const named = drivers.get(probe.device)
  return outcome === 'bound' && named !== undefined && named.line > probe.line ? named.driver : undefined
}

/** Calls by the driver that they are named after: `virtio_pci_driver_init`, or a module `virtio_pci`. */
function callsByDriver(calls: readonly LoggedCall[]): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, number[]>()
  for (const [place, { name, module }] of calls.entries()) {
    const stem = name.replace(/_(?:driver_init|module_init|mod_init|init_module|init_driver|init)$/, '')
    for (const key of new Set([driverKey(stem), driverKey(module ?? stem)])) {
      const places = found.get(key)
      if (places === undefined) found.set(key, [place])
      else places.push(place)
    }
  }
  return found
}

function driverKey(name: string): string {
  return name.replaceAll('-', '_').toLowerCase()
}

/**
 * What a probe's value means. Linux 5.14 began to return errors, as positive numbers, and 0 for bound; before it 1 was bound
 * and 0 all the rest (really_probe in drivers/base/dd.c).
 */
function outcomesOf({ kernel, probes }: LoggedBoot): (returned: number) => ProbeOutcome | undefined {
  const [, major, minor] = /^(\d{1,3})\.(\d{1,3})/.exec(kernel ?? '') ?? []
  const version = major === undefined ? undefined : Number(major) * 1000 + Number(minor)
  const old = version === undefined ? probes.some(({ returned }) => returned === 1) || undefined : version < 5014
  const early = old === undefined && probes.some(({ returned }) => returned > 1) ? false : old
  return (returned) => {
    const errno = Math.abs(returned)
    if (errno === EPROBE_DEFER) return 'deferred'
    if (early === undefined) return undefined
    if (early) return returned === 1 ? 'bound' : returned === 0 ? 'not-bound' : 'failed'
    if (returned === 0) return 'bound'
    return errno === ENODEV || errno === ENXIO ? 'declined' : 'failed'
  }
}
