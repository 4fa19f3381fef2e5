//! The tiers themselves, as they run in the watched thread.

use std::fs::{File, OpenOptions};
use std::os::fd::{FromRawFd, IntoRawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use kvm_bindings::kvm_regs;
use kvm_ioctls::{Kvm, VmFd};

use super::describe::{describe, failed_guest};
use super::errno::{Errno, create_vm_remedy, open_remedy};
use super::finding::{InsnEmulation, Tier, TierId};
use super::long_mode::{Examined, examine};
use super::machine::{Exit, Machine, Stop, setup};
use super::milliseconds;
use super::watchdog::take_interrupt;

/// `KVM_GET_API_VERSION` since Linux 2.6.22.
const API_VERSION: i32 = 12;
const REAL_MODE_CODE: u64 = 0x1000;
const HLT: u8 = 0xf4;
/// `KVM_CREATE_VM` gives EINTR when a signal meets it; a few tries pass any sane rate of signals.
const CREATE_TRIES: u32 = 5;

/// One tier's answer.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) tier: Tier,
    pub(super) evidence: Option<InsnEmulation>,
}

struct Failure {
    detail: String,
    remedy: Option<String>,
}

/// Runs tier after tier until one fails.
pub(super) fn run_tiers(path: &Path, reports: &SyncSender<Report>) {
    // `None` is a tier that has reported its failure.
    let _ = tiers(path, reports);
}

fn tiers(path: &Path, reports: &SyncSender<Report>) -> Option<()> {
    let device = tier(TierId::Open, reports, || open(path))?;
    // SAFETY: the descriptor is open and given away. Whether KVM is behind it is what the next tier asks.
    let kvm = unsafe { Kvm::from_raw_fd(device.into_raw_fd()) };
    tier(TierId::ApiVersion, reports, || api_version(&kvm, path))?;
    let vm = tier(TierId::CreateVm, reports, || create_vm(&kvm))?;
    let machine = tier(TierId::RealModeHlt, reports, || real_mode(&kvm, vm))?;
    take_interrupt();
    let started = Instant::now();
    let mut report = long_mode(&machine);
    report.tier.duration_ms = milliseconds(started.elapsed());
    reports.send(report).ok()
}

fn tier<T>(id: TierId, reports: &SyncSender<Report>, body: impl FnOnce() -> Result<(T, String), Failure>) -> Option<T> {
    // An interrupt that came as the tier before was ending is not meant for this one.
    take_interrupt();
    let started = Instant::now();
    let (value, mut tier) = match body() {
        Ok((value, detail)) => (Some(value), Tier::ok(id, detail)),
        Err(Failure { detail, remedy }) => (None, Tier::failed(id, detail, remedy)),
    };
    tier.duration_ms = milliseconds(started.elapsed());
    reports.send(Report { tier, evidence: None }).ok()?;
    value
}

fn open(path: &Path) -> Result<(File, String), Failure> {
    let name = path.display().to_string();
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(|error| {
        let errno = Errno::from(error);
        Failure { detail: format!("Opening {name} failed with {errno}."), remedy: open_remedy(&name, errno) }
    })?;
    let is_device = file.metadata().is_ok_and(|metadata| metadata.file_type().is_char_device());
    if !is_device {
        return Err(Failure {
            detail: format!("{name} opens, but it is not a character device."),
            remedy: Some("Give the path of the KVM device, which is /dev/kvm.".to_owned()),
        });
    }
    Ok((file, format!("{name} opens for reading and writing.")))
}

fn api_version(kvm: &Kvm, path: &Path) -> Result<((), String), Failure> {
    let name = path.display();
    match kvm.get_api_version() {
        API_VERSION => Ok(((), format!("KVM_GET_API_VERSION is {API_VERSION}."))),
        version if version < 0 => Err(Failure {
            detail: format!("{name} is not KVM: KVM_GET_API_VERSION failed with {}.", Errno::last()),
            remedy: Some("Give the path of the KVM device, which is /dev/kvm.".to_owned()),
        }),
        version => Err(Failure {
            detail: format!("KVM_GET_API_VERSION is {version}, where every KVM since Linux 2.6.22 has {API_VERSION}."),
            remedy: Some("Use a host with a current Linux kernel.".to_owned()),
        }),
    }
}

fn create_vm(kvm: &Kvm) -> Result<(VmFd, String), Failure> {
    let mut tries = 0;
    loop {
        tries += 1;
        let errno = match kvm.create_vm() {
            Ok(vm) => return Ok((vm, "KVM_CREATE_VM gave a VM.".to_owned())),
            Err(error) => Errno::from(error),
        };
        if errno.0 != libc::EINTR || tries == CREATE_TRIES {
            let detail = format!("KVM_CREATE_VM failed with {errno}.");
            return Err(Failure { detail, remedy: create_vm_remedy(errno) });
        }
    }
}

fn real_mode(kvm: &Kvm, vm: VmFd) -> Result<(Machine, String), Failure> {
    let run = || {
        let machine = Machine::new(kvm, vm)?;
        machine.memory.write(REAL_MODE_CODE, &[HLT]);
        halt_in_real_mode(&machine)?;
        Ok(machine)
    };
    run().map(|machine| (machine, "A real-mode guest executed HLT.".to_owned())).map_err(|stop: Stop| Failure {
        detail: format!("A real-mode guest did not reach its HLT: {stop}."),
        remedy: Some(
            "Look at `sudo dmesg` for KVM errors; in a VM ask its provider whether nested virtualization works."
                .to_owned(),
        ),
    })
}

pub(super) fn halt_in_real_mode(machine: &Machine) -> Result<(), Stop> {
    let mut vcpu = machine.vcpu(0)?;
    let mut sregs = setup("KVM_GET_SREGS", vcpu.fd.get_sregs())?;
    // The reset vector's segment lies below 4 GiB; the code lies in the first page.
    sregs.cs.base = 0;
    sregs.cs.selector = 0;
    setup("KVM_SET_SREGS", vcpu.fd.set_sregs(&sregs))?;
    let registers = kvm_regs { rip: REAL_MODE_CODE, rflags: 2, ..Default::default() };
    setup("KVM_SET_REGS", vcpu.fd.set_regs(&registers))?;
    match vcpu.run()? {
        Exit::Halted => Ok(()),
        other => Err(Stop::Unexpected(format!("{other:?}"))),
    }
}

fn long_mode(machine: &Machine) -> Report {
    let (tier, evidence) = match examine(machine) {
        Ok(Examined { evidence, stop }) => (describe(&evidence, stop.as_ref()), Some(evidence)),
        Err(stop) => (failed_guest(&stop), None),
    };
    Report { tier, evidence }
}
