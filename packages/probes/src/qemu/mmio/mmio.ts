import { type AsyncByteInput, type ByteInput, chunksOf } from '../../input/byte-input.ts'
import { type MemoryMap, readMemoryMap } from '../mtree/owners.ts'
import { readConfigEvent } from '../trace/config-event.ts'
import type { OtherEventName } from '../trace/events.ts'
import { readIoEventFd, readRunExit } from '../trace/kvm-events.ts'
import type { RegionAccess } from '../trace/region-access.ts'
import { type TraceFacts, tokenizeTrace } from '../trace/tokenize.ts'
import { readQueueNotify, readVirtioMmio } from '../trace/virtio-events.ts'
import { readVfioConfig, readVfioRegion } from '../trace/vfio-events.ts'
import { type Cell, countCells, type Role } from './cells.ts'
import { followConfigSpace } from './config-space.ts'
import { countExits } from './exits.ts'
import { noAnswer, simpleBackend } from './no-answer.ts'
import { BOOT_CUTS, followPhases, type PhaseCut } from './phases.ts'
import { ECAM_REGION } from './regions.ts'
import type { MmioResult } from './report.ts'
import { countDevices } from './device-events.ts'
import { summarize } from './summarize.ts'

/** How a trace is read. */
export interface MmioOptions {
  /** The name in diagnostics; default `trace`. */
  readonly file?: string
  /**
   * Texts with the machine's memory map, taken in the same boot: `info mtree -f -o` as HMP prints it, QMP's answer to
   * `query-pci`, or an object with both. Without them a region has a name and no owner.
   */
  readonly map?: readonly string[]
  /** Where phases begin; default those of a Linux boot on a serial console, {@link BOOT_CUTS}. */
  readonly cuts?: readonly PhaseCut[]
}

/**
 * Whose the accesses of a boot are, from a trace of QEMU's log backend (5.2 to 11.1, with and without stamps) of
 * `memory_region_ops_*`, `pci_cfg_*` and their kin. Never throws; without an answer it says why.
 */
export function mmio(input: ByteInput, options: MmioOptions = {}): MmioResult {
  const session = open(options)
  for (const chunk of chunksOf(input)) session.push(chunk)
  return session.end()
}

/**
 * The same of a trace that arrives. Memory does not grow with it, and a chunk is only lent, so that one buffer may serve for all.
 * Rejects only if the stream itself fails.
 */
export async function mmioFrom(input: AsyncByteInput, options: MmioOptions = {}): Promise<MmioResult> {
  const session = open(options)
  for await (const chunk of input) session.push(chunk)
  return session.end()
}

const NO_ROLE: Role = 0
const LINE_CONTROL: Role = 1
const CONFIG_INDEX: Role = 2
const CONFIG_DATA: Role = 3
const ECAM: Role = 4
const NAMELESS_MEMORY: Role = 5
const PORTS = 0x10000
// The divisor latch access bit of an 8250's line control register: while it is set, port 0x3f8 takes the baud rate.
const DLAB = 0x80

interface Session {
  push(chunk: Uint8Array | string): void
  end(): MmioResult
}

function open({ file = 'trace', map: texts = [], cuts = BOOT_CUTS }: MmioOptions): Session {
  const map = readMemoryMap(texts)
  const follower = followPhases(cuts)
  const config = followConfigSpace()
  const exits = countExits()
  const devices = countDevices()
  const cells = countCells((access, name) => roleOf(access, name, map))
  const configByPhase: number[] = []
  const console = { bytes: 0, divisor: 0 }
  const nameless = new NamelessConfigPorts()
  let phase = 0
  let irqfds = 0
  let divisorLatch = false
  let maybeSplit = 0
  let unplaced = 0
  let nextAddress = 0
  let lastRegion = 0
  let lastEvent = -1
  let head: Uint8Array | undefined

  const tokenizer = tokenizeTrace(
    {
      access(access, bytes) {
        const { addressLow, event } = access
        const region = access.mrFirst ^ access.mrRest
        if (byTime) cutByTime()
        if (addressLow === nextAddress && region === lastRegion && event === lastEvent) maybeSplit += 1
        nextAddress = (addressLow + access.size) | 0
        lastRegion = region
        lastEvent = event
        const role = roleBeforeCount(access, bytes)
        if (role !== NO_ROLE) special(role, access)
      },
      event: otherEvent,
    },
    { file },
  )
  let byTime = follower.byTime

  function cutByTime(): void {
    if (follower.time(tokenizer.nowUs(), tokenizer.line)) begin()
    byTime = follower.byTime
  }

  function begin(): void {
    cells.nextPhase()
    phase = follower.phases.length - 1
  }

  /** A byte that ends a phase is the first access of the next one, so it has to be looked at before it is counted. */
  function roleBeforeCount(access: RegionAccess, bytes: Uint8Array): Role {
    if (access.addressLow === 0x3f8 && access.event === 1 && access.size === 1 && access.addressHigh === 0)
      consoleByte(access, bytes)
    const role = cells.hit(access, bytes)
    if (role !== -1) return role
    unplaced += 1
    tokenizer.problems.add('too-many-regions', tokenizer.line)
    return NO_ROLE
  }

  function consoleByte(access: RegionAccess, bytes: Uint8Array): void {
    if (!isSerial(access, bytes)) return
    console.bytes += 1
    if (divisorLatch) console.divisor += 1
    else if (follower.byte(access.value & 0xff, tokenizer.line, () => tokenizer.nowUs())) begin()
  }

  function special(role: Role, access: RegionAccess): void {
    const { event, value, addressLow, size } = access
    const write = event % 2 === 1
    if (role === LINE_CONTROL) divisorLatch = (value & DLAB) !== 0
    else if (role === CONFIG_INDEX) {
      config.index(value)
      nameless.index(access)
    } else if (role === CONFIG_DATA) {
      if (access.nameTo === 0 && nameless.isNoBridge(access)) return
      countConfig()
      if (!config.data(write, addressLow, size, value, phase)) tokenizer.problems.add('config-disabled', tokenizer.line)
    } else if (role === ECAM) {
      countConfig()
      config.ecam(write, addressLow >>> 0, size, value, phase)
    } else if (role === NAMELESS_MEMORY && config.nameless(write, addressLow >>> 0, phase)) countConfig()
  }

  function countConfig(): void {
    configByPhase[phase] = (configByPhase[phase] ?? 0) + 1
  }

  function otherEvent(name: OtherEventName, args: string): boolean {
    lastEvent = -1
    if (byTime) cutByTime()
    switch (name) {
      case 'pci_cfg_read':
      case 'pci_cfg_write': {
        const event = readConfigEvent(args)
        if (event && config.event(name === 'pci_cfg_write', event, phase)) countConfig()
        return event !== undefined
      }
      case 'kvm_run_exit': {
        const reason = readRunExit(args)
        if (reason !== undefined) exits.exit(reason, phase)
        return reason !== undefined
      }
      case 'kvm_set_ioeventfd_mmio':
      case 'kvm_set_ioeventfd_pio': {
        const event = readIoEventFd(args)
        if (event) exits.ioeventfd(name === 'kvm_set_ioeventfd_pio' ? 'pio' : 'mmio', event)
        return event !== undefined
      }
      case 'virtio_queue_notify': {
        const event = readQueueNotify(args)
        if (event) exits.notify(event.vdev, event.queue)
        return event !== undefined
      }
      case 'virtio_mmio_read':
      case 'virtio_mmio_write_offset': {
        const offset = readVirtioMmio(args)
        if (offset !== undefined) devices.virtioMmio(offset, name === 'virtio_mmio_write_offset')
        return offset !== undefined
      }
      case 'vfio_pci_read_config':
      case 'vfio_pci_write_config': {
        const write = name === 'vfio_pci_write_config'
        const event = readVfioConfig(args, write)
        if (event) devices.vfio(event, write)
        return event !== undefined
      }
      case 'vfio_region_read':
      case 'vfio_region_write': {
        const write = name === 'vfio_region_write'
        const event = readVfioRegion(args, write)
        if (event) devices.vfio(event, write)
        return event !== undefined
      }
      case 'virtio_notify_irqfd':
      case 'virtio_notify_irqfd_deferred_fn':
        irqfds += 1
        return true
      default:
        return true
    }
  }

  function facts(): TraceFacts {
    return tokenizer.end()
  }

  return {
    push(chunk) {
      if (head === undefined && chunk.length > 0) {
        head = typeof chunk === 'string' ? new TextEncoder().encode(chunk.slice(0, 16)) : chunk.slice(0, 16)
      }
      tokenizer.push(chunk)
    },
    end() {
      const trace = facts()
      const counted = cells.list()
      return (
        noAnswer(trace, simpleBackend(head)) ??
        summarize({
          trace,
          map,
          cells: counted,
          phases: follower.phases,
          config: config.result(follower.phases.length, seenOf(trace, counted)),
          configByPhase,
          exits,
          irqfds,
          devices,
          console,
          maybeSplit,
          unplaced,
        })
      )
    },
  }
}

/** With both directions of all regions traced, no access to configuration space is none; ECAM is known by its region's name. */
function seenOf(
  { events }: TraceFacts,
  counted: readonly Cell[],
): { readonly accesses: boolean; readonly ecam: boolean } {
  const accesses = 'memory_region_ops_read' in events && 'memory_region_ops_write' in events
  return { accesses, ecam: accesses && counted.every(({ name, event }) => name !== undefined || event > 1) }
}

function roleOf(
  { event, addressHigh, addressLow, size }: RegionAccess,
  given: string | undefined,
  map?: MemoryMap,
): Role {
  const address = addressHigh === 0 ? addressLow >>> 0 : Number.POSITIVE_INFINITY
  // Offsets into a subpage and assigned memory are neither ports nor a configuration window.
  if (event > 1) return NO_ROLE
  const name = given ?? map?.at(address < PORTS ? 'pio' : 'mmio', address)?.name
  const write = event === 1
  if (name === ECAM_REGION) return ECAM
  if (name === 'pci-conf-data') return CONFIG_DATA
  if (name === 'pci-conf-idx') return write && size === 4 ? CONFIG_INDEX : NO_ROLE
  if (name === 'serial') return write && size === 1 && address === 0x3fb ? LINE_CONTROL : NO_ROLE
  if (name !== undefined) return NO_ROLE
  // QEMU before 6.2 prints no names: a PC's ports tell.
  if (address >= PORTS) return NAMELESS_MEMORY
  if (write && size === 1 && address === 0x3fb) return LINE_CONTROL
  if (write && size === 4 && address === 0xcf8) return CONFIG_INDEX
  return address >= 0xcfc && address <= 0xcff ? CONFIG_DATA : NO_ROLE
}

const SERIAL = new TextEncoder().encode('serial')

/** The 8250 at 0x3f8, or what stands there without a name. */
function isSerial({ nameFrom, nameTo }: RegionAccess, bytes: Uint8Array): boolean {
  if (nameTo === 0) return true
  if (nameTo - nameFrom !== SERIAL.length) return false
  for (let i = 0; i < SERIAL.length; i++) if (bytes[nameFrom + i] !== SERIAL[i]) return false
  return true
}

/**
 * Where regions have no names, ports 0xcf8 and 0xcfc of a machine without that bridge are one region, the unassigned ports; with
 * the bridge they are two.
 */
class NamelessConfigPorts {
  #first = 0
  #rest = 0

  index({ mrFirst, mrRest, nameTo }: RegionAccess): void {
    if (nameTo > 0) return
    this.#first = mrFirst
    this.#rest = mrRest
  }

  isNoBridge({ mrFirst, mrRest }: RegionAccess): boolean {
    return mrFirst === this.#first && mrRest === this.#rest
  }
}
