//! The long-mode guest: its code (`guest.s`), where things are in its memory, and the registers it starts with.

use std::arch::global_asm;

use kvm_bindings::{kvm_msr_entry, kvm_regs, kvm_segment, kvm_sregs, kvm_xcr, kvm_xcrs};

use super::memory::GuestMemory;

global_asm!(include_str!("guest.s"), options(raw));

unsafe extern "sysv64" {
    static boxlab_preflight_guest: u8;
    static boxlab_preflight_guest_end: u8;
    fn boxlab_preflight_plain(work_area: *mut u64, iterations: u64) -> u64;
}

/// Where the guest's routines write their sums.
pub(super) const RESULT_PORT: u16 = 0xb0;
/// CPUID leaf 1, ECX.
pub(super) const CPUID_CMPXCHG16B: u32 = 13;
pub(super) const CPUID_XSAVE: u32 = 26;

// Guest-physical addresses. The first 2 MiB are mapped to themselves; the 4 KiB page after them is INVLPG_PAGE.
const PML4: u64 = 0x2000;
const PDPT: u64 = 0x3000;
const PAGE_DIRECTORY: u64 = 0x4000;
const PAGE_TABLE: u64 = 0x5000;
const GDT: u64 = 0x6000;
const IDT: u64 = 0x7000;
const TSS: u64 = 0x8000;
const MAILBOX: u64 = 0x9000;
const STACK_TOP: u64 = 0x1_0000;
const CODE: u64 = 0x1_0000;
const WORK_AREA: u64 = 0x2_0000;
/// What the guest reads through its GS base after `swapgs`: a word that is 1.
const SWAPPED_GS_BASE: u64 = WORK_AREA + 0x3000;
const INVLPG_PAGE: u64 = 0x3_0000;

const CODE_SELECTOR: u16 = 0x08;
const DATA_SELECTOR: u16 = 0x10;
const TSS_SELECTOR: u16 = 0x18;
const TSS_LIMIT: u32 = 0x67;

/// The routines of `guest.s`, in the order of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Routine {
    Plain,
    Cmpxchg16b,
    Breakpoint,
    Xsave,
    Swapgs,
    Msr,
    Invlpg,
    Mix,
    Serve,
    OnBreakpoint,
}

/// What the guest may use beyond the base of x86-64; the values are bits in `guest.s`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Features {
    pub(super) xsave: bool,
    pub(super) cmpxchg16b: bool,
}

impl Features {
    fn bits(self) -> u64 {
        u64::from(self.xsave) | u64::from(self.cmpxchg16b) << 1
    }
}

impl Routine {
    /// The instructions that the routine is there for.
    pub(super) fn instructions(self) -> &'static str {
        match self {
            Self::Plain => "load/store/push/pop/call/ret/lock xadd",
            Self::Cmpxchg16b => "lock cmpxchg16b",
            Self::Breakpoint => "int3/iretq",
            Self::Xsave => "xsave/xrstor",
            Self::Swapgs => "swapgs",
            Self::Msr => "wrmsr/rdmsr",
            Self::Invlpg => "invlpg",
            Self::Mix => "all kinds in turn",
            Self::Serve | Self::OnBreakpoint => "the frame around the routines",
        }
    }

    /// What the routine gives after `n` iterations, reckoned without running it.
    pub(super) fn expected_sum(self, n: u64, features: Features) -> u64 {
        let triangle = n * (n + 1) / 2;
        match self {
            // Iteration i adds the low byte of 3i and the counter i; 256 low bytes in a row are a permutation.
            Self::Plain => {
                let rest: u64 = (0..n % 256).map(|i| (3 * i) & 255).sum();
                n / 256 * (255 * 256 / 2) + rest + triangle - n
            }
            Self::Cmpxchg16b => 3 * n,
            Self::Breakpoint | Self::Swapgs => n,
            Self::Xsave | Self::Msr | Self::Invlpg => triangle,
            Self::Mix => {
                let once = |routine: Self| routine.expected_sum(1, features);
                let each = Self::Plain.expected_sum(2, features)
                    + once(Self::Breakpoint)
                    + once(Self::Swapgs)
                    + if features.xsave { once(Self::Xsave) } else { 0 }
                    + if features.cmpxchg16b { once(Self::Cmpxchg16b) } else { 0 };
                n * each + n.div_ceil(64) * (once(Self::Msr) + once(Self::Invlpg))
            }
            Self::Serve | Self::OnBreakpoint => 0,
        }
    }

    fn address(self) -> u64 {
        let entry = self as usize * 4;
        let bytes = code().get(entry..entry + 4).and_then(|bytes| bytes.try_into().ok());
        CODE + u64::from(u32::from_le_bytes(bytes.unwrap_or_default()))
    }
}

fn code() -> &'static [u8] {
    // SAFETY: the two symbols are the ends of one read-only stretch of this library's text.
    unsafe {
        let start = &raw const boxlab_preflight_guest;
        std::slice::from_raw_parts(start, (&raw const boxlab_preflight_guest_end).offset_from_unsigned(start))
    }
}

/// Runs the plain routine in this process.
#[derive(Debug)]
pub(super) struct HostTwin {
    work_area: Vec<u64>,
}

impl HostTwin {
    pub(super) fn new() -> Self {
        Self { work_area: vec![0; 0x1008 / 8] }
    }

    pub(super) fn plain(&mut self, iterations: u64) -> u64 {
        // SAFETY: the routine follows the calling convention, executes unprivileged instructions only, and touches no more
        // than the first 0x1008 bytes of the work area. It would loop for ever on 0.
        unsafe { boxlab_preflight_plain(self.work_area.as_mut_ptr(), iterations.max(1)) }
    }
}

/// Tells the guest what to run next.
pub(super) fn order(memory: &GuestMemory, routine: Routine, iterations: u64, features: Features) {
    memory.write_words(MAILBOX, &[routine.address(), WORK_AREA, iterations, features.bits()]);
}

/// Writes code, page tables and descriptor tables.
pub(super) fn load(memory: &GuestMemory) {
    const PRESENT_WRITABLE: u64 = 0b11;
    const LARGE: u64 = 1 << 7;
    memory.write(CODE, code());
    memory.write_words(SWAPPED_GS_BASE, &[1]);
    memory.write_words(PML4, &[PDPT | PRESENT_WRITABLE]);
    memory.write_words(PDPT, &[PAGE_DIRECTORY | PRESENT_WRITABLE]);
    memory.write_words(PAGE_DIRECTORY, &[LARGE | PRESENT_WRITABLE, PAGE_TABLE | PRESENT_WRITABLE]);
    memory.write_words(PAGE_TABLE, &[INVLPG_PAGE | PRESENT_WRITABLE]);
    // Null, 64-bit code, data, and the two halves of a busy 64-bit TSS (Intel SDM 3A, 3.4.5 and 7.2.3).
    let tss = u64::from(TSS_LIMIT) | (TSS & 0xff_ffff) << 16 | 0x8b << 40;
    memory.write_words(GDT, &[0, 0x00af_9b00_0000_ffff, 0x00cf_9300_0000_ffff, tss, 0]);
    // One interrupt gate, for vector 3; any other vector is a triple fault, which ends the run at once.
    let handler = Routine::OnBreakpoint.address();
    let gate = (handler & 0xffff) | u64::from(CODE_SELECTOR) << 16 | 0x8e << 40 | (handler >> 16 & 0xffff) << 48;
    memory.write_words(IDT + 3 * 16, &[gate, handler >> 32]);
}

/// The registers at the entry point.
pub(super) fn start_registers() -> kvm_regs {
    kvm_regs { rip: Routine::Serve.address(), rsp: STACK_TOP, rbx: MAILBOX, rflags: 2, ..Default::default() }
}

/// The base that `swapgs` swaps in.
pub(super) fn kernel_gs_base() -> kvm_msr_entry {
    const MSR_KERNEL_GS_BASE: u32 = 0xc000_0102;
    kvm_msr_entry { index: MSR_KERNEL_GS_BASE, data: SWAPPED_GS_BASE, ..Default::default() }
}

/// XCR0 with x87 and SSE state, for XSAVE. Set from outside, since QEMU's emulation of SVM (7.2) loses what a guest sets.
pub(super) fn extended_state() -> kvm_xcrs {
    let mut xcrs = kvm_xcrs { nr_xcrs: 1, ..Default::default() };
    xcrs.xcrs[0] = kvm_xcr { xcr: 0, value: 0b11, ..Default::default() };
    xcrs
}

/// Long mode with paging, as a 64-bit kernel sets it. The segments satisfy the checks of VMX to the letter: hosts without
/// unrestricted guests would otherwise emulate, and be taken for what they are not.
pub(super) fn enter_long_mode(sregs: &mut kvm_sregs, features: Features) {
    const CR0_PE_MP_ET_NE_WP_AM_PG: u64 = 1 | 1 << 1 | 1 << 4 | 1 << 5 | 1 << 16 | 1 << 18 | 1 << 31;
    const CR4_PAE_PGE_OSFXSR_OSXMMEXCPT: u64 = 1 << 5 | 1 << 7 | 1 << 9 | 1 << 10;
    const CR4_OSXSAVE: u64 = 1 << 18;
    const EFER_SCE_LME_LMA: u64 = 1 | 1 << 8 | 1 << 10;
    sregs.cr0 = CR0_PE_MP_ET_NE_WP_AM_PG;
    sregs.cr3 = PML4;
    sregs.cr4 = CR4_PAE_PGE_OSFXSR_OSXMMEXCPT | if features.xsave { CR4_OSXSAVE } else { 0 };
    sregs.efer = EFER_SCE_LME_LMA;
    let flat = kvm_segment { limit: u32::MAX, present: 1, s: 1, g: 1, ..Default::default() };
    sregs.cs = kvm_segment { selector: CODE_SELECTOR, type_: 0xb, l: 1, ..flat };
    let data = kvm_segment { selector: DATA_SELECTOR, type_: 0x3, db: 1, ..flat };
    (sregs.ds, sregs.es, sregs.fs, sregs.gs, sregs.ss) = (data, data, data, data, data);
    sregs.tr = kvm_segment {
        base: TSS,
        limit: TSS_LIMIT,
        selector: TSS_SELECTOR,
        type_: 0xb,
        present: 1,
        ..Default::default()
    };
    sregs.ldt = kvm_segment { type_: 0x2, unusable: 1, ..Default::default() };
    sregs.gdt.base = GDT;
    sregs.gdt.limit = 5 * 8 - 1;
    sregs.idt.base = IDT;
    sregs.idt.limit = 4 * 16 - 1;
}
