// `cpu_index %d, reason %d` (accel/kvm/trace-events).
const RUN_EXIT = /^cpu_index (-?\d{1,9}), reason (\d{1,9})$/

/** The reason of a `kvm_run_exit`: a number of KVM_EXIT_* (linux/kvm.h). */
export function readRunExit(args: string): number | undefined {
  const match = RUN_EXIT.exec(args)
  return match === null ? undefined : Number(match[2])
}

/** An address at which the kernel takes a guest's writes as a signal of its own, with no exit to QEMU. */
export interface IoEventFd {
  readonly fd: number
  /** As it was printed, without `0x`. */
  readonly address: string
  readonly assign: boolean
}

// `fd: %d @0x%x val=0x%x assign: %d size: %d match: %d` (accel/kvm/trace-events).
const IOEVENTFD =
  /^fd: (-?\d{1,9}) @0x([0-9a-f]{1,16}) val=0x([0-9a-f]{1,16}) assign: ([01]) size: \d{1,3} match: [01]$/

/** Reads the arguments of `kvm_set_ioeventfd_{mmio,pio}`. */
export function readIoEventFd(args: string): (IoEventFd & { readonly value: string }) | undefined {
  const match = IOEVENTFD.exec(args)
  if (match === null) return undefined
  const [, fd, address = '', value = '', assign] = match
  return { fd: Number(fd), address, value, assign: assign === '1' }
}

/** KVM_EXIT_* of linux/kvm.h (6.18), by number. */
const EXIT_NAMES: readonly string[] = `
UNKNOWN EXCEPTION IO HYPERCALL DEBUG HLT MMIO IRQ_WINDOW_OPEN SHUTDOWN FAIL_ENTRY INTR SET_TPR
TPR_ACCESS S390_SIEIC S390_RESET DCR NMI INTERNAL_ERROR OSI PAPR_HCALL S390_UCONTROL WATCHDOG
S390_TSCH EPR SYSTEM_EVENT S390_STSI IOAPIC_EOI HYPERV ARM_NISV X86_RDMSR X86_WRMSR DIRTY_RING_FULL
AP_RESET_HOLD X86_BUS_LOCK XEN RISCV_SBI RISCV_CSR NOTIFY LOONGARCH_IOCSR MEMORY_FAULT
`
  .trim()
  .split(/\s+/)

/** The name of a reason, such as `IO`; `undefined` for one that this version does not know. */
export function exitName(reason: number): string | undefined {
  return EXIT_NAMES[reason]
}

export const EXIT_IO = 2
export const EXIT_MMIO = 6
