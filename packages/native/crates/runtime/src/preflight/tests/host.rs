//! This host's KVM, whatever kind it is.

use std::ffi::CString;
use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use kvm_ioctls::Kvm;

use super::super::machine::Machine;
use super::super::tiers;
use super::*;

fn host_kvm() -> Option<&'static Path> {
    let path = Path::new("/dev/kvm");
    let opens = File::options().read(true).write(true).open(path);
    match opens.and_then(|file| file.metadata()) {
        Ok(metadata) if metadata.file_type().is_char_device() => Some(path),
        Ok(_) => {
            eprintln!("skipped: /dev/kvm is not a device");
            None
        }
        Err(error) => {
            eprintln!("skipped: /dev/kvm cannot be opened here: {error}");
            None
        }
    }
}

#[test]
fn a_guest_that_never_exits_is_interrupted_at_the_limit() {
    let Some(path) = host_kvm() else { return };
    let watched = Watched::<Stop>::spawn(move |reports| {
        const SPIN: [u8; 2] = [0xeb, 0xfe];
        let kvm = Kvm::new_with_path(CString::new(path.to_str().unwrap()).unwrap()).unwrap();
        let machine = Machine::new(&kvm, kvm.create_vm().unwrap()).unwrap();
        machine.memory.write(0x1000, &SPIN);
        reports.send(tiers::halt_in_real_mode(&machine).unwrap_err()).unwrap();
    })
    .unwrap();
    let started = Instant::now();
    match watched.next(Duration::from_millis(100)) {
        Answer::Given(stop) => assert_eq!(stop, Stop::Deadline),
        other => panic!("{other:?}"),
    }
    assert!(started.elapsed() >= Duration::from_millis(100));
    watched.close();
}

#[test]
fn the_check_of_this_host_is_quick_and_consistent() {
    let Some(path) = host_kvm() else { return };
    let found = look_at(path);
    eprintln!("verdict {:?} in {:.1} ms", found.verdict, found.duration_ms);
    for tier in &found.tiers {
        eprintln!("  {} {:?} {:.3} ms: {}", tier.id, tier.outcome, tier.duration_ms, tier.detail);
    }
    assert!(found.duration_ms < 2_000.0);
    assert!(found.tiers[..4].iter().all(|tier| tier.outcome == Outcome::Ok), "{:?}", found.tiers);
    let evidence = found.insn_emulation.as_ref().unwrap();
    match found.verdict {
        Verdict::Native => {
            assert_eq!(found.tiers[4].outcome, Outcome::Ok);
            assert!(evidence.kernel.as_ref().unwrap().iterations >= 100_000);
        }
        Verdict::Emulated => {
            assert_eq!(found.tiers[4].outcome, Outcome::Failed);
            assert!(found.tiers[4].remedy.as_ref().unwrap().contains("tcg"));
            // Without the statistic the time must say the same of the same run.
            let mut blind = evidence.clone();
            (blind.plain.before, blind.plain.after, blind.kernel) = (None, None, None);
            blind.stopped_on.clear();
            blind.statistic = statistic_signal([&blind.plain]);
            blind.time = time_signal(&blind.plain);
            assert_eq!(blind.statistic, Signal::Missing);
            assert_eq!(judge(&blind, None), Verdict::Emulated);
        }
        Verdict::Unusable => panic!("{found:?}"),
    }
}
