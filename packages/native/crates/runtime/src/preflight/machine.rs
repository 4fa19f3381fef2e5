//! A throw-away VM: one block of memory, and vCPUs whose runs end in a plain [`Exit`].

use std::os::fd::AsRawFd;

use kvm_bindings::{
    CpuId, KVM_INTERNAL_ERROR_DELIVERY_EV, KVM_INTERNAL_ERROR_EMULATION, KVM_INTERNAL_ERROR_SIMUL_EX,
    KVM_INTERNAL_ERROR_UNEXPECTED_EXIT_REASON, KVM_MAX_CPUID_ENTRIES, Msrs, kvm_msr_entry, kvm_userspace_memory_region,
};
use kvm_ioctls::{Kvm, VcpuExit, VcpuFd, VmFd};
use thiserror::Error;

use super::errno::Errno;
use super::memory::{GuestMemory, MEMORY_BYTES};
use super::watchdog::{signal_mask_for_run, take_interrupt};

/// `_IOW(KVMIO, 0x8b, struct kvm_signal_mask)`.
const KVM_SET_SIGNAL_MASK: libc::c_ulong = 0x4004_ae8b;
/// Where Intel hosts without unrestricted guests keep what they need for real mode: unused addresses below 4 GiB.
const TSS_ADDRESS: usize = 0xfffb_d000;
const IDENTITY_MAP_ADDRESS: u64 = 0xfffb_c000;

/// Why a guest could not be run to its end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum Stop {
    #[error("{what} failed with {errno}")]
    Setup { what: &'static str, errno: Errno },
    #[error("it was still running at the time limit")]
    Deadline,
    #[error("KVM_EXIT_INTERNAL_ERROR, suberror {suberror}: {}", suberror_words(*.suberror))]
    InternalError { suberror: u32 },
    #[error("KVM_EXIT_SHUTDOWN, a triple fault")]
    Shutdown,
    #[error("KVM_EXIT_FAIL_ENTRY, hardware reason {0:#x}")]
    FailEntry(u64),
    #[error("an exit that nothing asked for, {0}")]
    Unexpected(String),
    #[error("KVM_RUN failed with {0}")]
    Run(Errno),
    #[error("the guest computed {got:#x} where {expected:#x} is right")]
    WrongSum { got: u32, expected: u32 },
}

impl Stop {
    /// Whether KVM says that it could not emulate an instruction.
    pub(super) fn is_emulation_failure(&self) -> bool {
        *self == Self::InternalError { suberror: KVM_INTERNAL_ERROR_EMULATION }
    }
}

fn suberror_words(suberror: u32) -> &'static str {
    match suberror {
        KVM_INTERNAL_ERROR_EMULATION => "an instruction could not be emulated",
        KVM_INTERNAL_ERROR_SIMUL_EX => "two exceptions at once",
        KVM_INTERNAL_ERROR_DELIVERY_EV => "an event could not be delivered",
        KVM_INTERNAL_ERROR_UNEXPECTED_EXIT_REASON => "an exit of the hardware that KVM does not know",
        _ => "not known",
    }
}

/// Turns an ioctl's error into a [`Stop`] that names the ioctl.
pub(super) fn setup<T>(what: &'static str, result: Result<T, kvm_ioctls::Error>) -> Result<T, Stop> {
    result.map_err(|error| Stop::Setup { what, errno: error.into() })
}

/// How a run of a vCPU ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// The guest wrote four bytes to a port.
    Out { port: u16, value: u32 },
    /// The guest executed HLT.
    Halted,
}

/// A VM with memory. The memory outlives the VM and its vCPUs: fields are dropped in order, and a [`Vcpu`] borrows the machine.
#[derive(Debug)]
pub(super) struct Machine {
    vm: VmFd,
    cpuid: CpuId,
    pub(super) memory: GuestMemory,
}

impl Machine {
    pub(super) fn new(kvm: &Kvm, vm: VmFd) -> Result<Self, Stop> {
        let cpuid = setup("KVM_GET_SUPPORTED_CPUID", kvm.get_supported_cpuid(KVM_MAX_CPUID_ENTRIES))?;
        setup("KVM_SET_IDENTITY_MAP_ADDR", vm.set_identity_map_address(IDENTITY_MAP_ADDRESS))?;
        setup("KVM_SET_TSS_ADDR", vm.set_tss_address(TSS_ADDRESS))?;
        let memory = GuestMemory::new()?;
        let region = kvm_userspace_memory_region {
            slot: 0,
            flags: 0,
            guest_phys_addr: 0,
            memory_size: MEMORY_BYTES as u64,
            userspace_addr: memory.host_address(),
        };
        // SAFETY: the mapping is ours, has that size, and is unmapped only after the VM and its vCPUs are closed.
        setup("KVM_SET_USER_MEMORY_REGION", unsafe { vm.set_user_memory_region(region) })?;
        Ok(Self { vm, cpuid, memory })
    }

    pub(super) fn vcpu(&self, id: u64) -> Result<Vcpu<'_>, Stop> {
        let fd = setup("KVM_CREATE_VCPU", self.vm.create_vcpu(id))?;
        setup("KVM_SET_CPUID2", fd.set_cpuid2(&self.cpuid))?;
        let mask = SignalMask { len: 8, set: signal_mask_for_run().to_ne_bytes() };
        // SAFETY: the kernel reads `len` and as many bytes of the set, both in `mask`.
        if unsafe { libc::ioctl(fd.as_raw_fd(), KVM_SET_SIGNAL_MASK, &mask) } < 0 {
            return Err(Stop::Setup { what: "KVM_SET_SIGNAL_MASK", errno: Errno::last() });
        }
        Ok(Vcpu { fd, machine: self })
    }

    /// A bit of register ECX of CPUID leaf 1, as the guest sees it.
    pub(super) fn has_leaf1_ecx(&self, bit: u32) -> bool {
        self.cpuid.as_slice().iter().any(|entry| entry.function == 1 && entry.ecx & (1 << bit) != 0)
    }
}

/// `struct kvm_signal_mask` with a set of the kernel's size.
#[repr(C)]
struct SignalMask {
    len: u32,
    set: [u8; 8],
}

/// A vCPU of a machine, for the thread of the watchdog.
#[derive(Debug)]
pub(super) struct Vcpu<'machine> {
    pub(super) fd: VcpuFd,
    pub(super) machine: &'machine Machine,
}

impl Vcpu<'_> {
    pub(super) fn set_msr(&self, entry: kvm_msr_entry) -> Result<(), Stop> {
        const WHAT: &str = "KVM_SET_MSRS";
        let refused = Stop::Setup { what: WHAT, errno: Errno(libc::EINVAL) };
        let entries = Msrs::from_entries(&[entry]).map_err(|_| refused.clone())?;
        // The ioctl gives the number of registers that it did set.
        if setup(WHAT, self.fd.set_msrs(&entries))? == 1 { Ok(()) } else { Err(refused) }
    }

    /// Runs until the guest writes to a port or halts; all else is a [`Stop`].
    pub(super) fn run(&mut self) -> Result<Exit, Stop> {
        loop {
            match self.fd.run() {
                Ok(VcpuExit::IoOut(port, &[a, b, c, d])) => {
                    return Ok(Exit::Out { port, value: u32::from_le_bytes([a, b, c, d]) });
                }
                Ok(VcpuExit::Hlt) => return Ok(Exit::Halted),
                Ok(VcpuExit::Shutdown) => return Err(Stop::Shutdown),
                Ok(VcpuExit::FailEntry(reason, _)) => return Err(Stop::FailEntry(reason)),
                Ok(VcpuExit::InternalError) => break,
                Ok(other) => return Err(Stop::Unexpected(format!("{other:?}"))),
                Err(error) if error.errno() == libc::EINTR => {
                    if take_interrupt() {
                        return Err(Stop::Deadline);
                    }
                }
                Err(error) => return Err(Stop::Run(error.into())),
            }
        }
        // SAFETY: the exit reason said that `internal` is the member of the union that the kernel filled.
        let suberror = unsafe { self.fd.get_kvm_run().__bindgen_anon_1.internal.suberror };
        Err(Stop::InternalError { suberror })
    }
}
