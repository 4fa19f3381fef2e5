//! The parts that need no KVM: statistics, the guest's code in this process, the watchdog, the shape of the result.

use std::thread;

use super::super::guest::{Features, HostTwin, Routine};
use super::super::stats;
use super::*;

#[test]
fn statistics_are_found_by_name_in_a_recording_whose_offsets_are_not_in_order() {
    let recording = include_bytes!("../testdata/vcpu-stats.bin");
    let value = |name| {
        let at = stats::position(recording, name).unwrap() as usize;
        u64::from_ne_bytes(recording[at..at + 8].try_into().unwrap())
    };
    assert_eq!((value("insn_emulation"), value("exits"), value("mmio_exits")), (305, 151, 50));
    assert_eq!((value("pf_taken"), value("io_exits"), value("halt_exits")), (0, 0, 1));
    assert_eq!(stats::position(recording, "insn_emul"), None);
}

#[test]
fn statistics_that_are_cut_or_nonsense_are_missing() {
    let recording = include_bytes!("../testdata/vcpu-stats.bin");
    let descriptors_end = 3_080;
    for length in (0..descriptors_end).step_by(7) {
        assert_eq!(stats::position(&recording[..length], "insn_emulation"), None, "{length} bytes");
    }
    assert_eq!(stats::position(&[0xff; 4_096], "insn_emulation"), None);
}

#[test]
fn the_plain_routine_computes_its_sum_in_this_process_too() {
    let mut host = HostTwin::new();
    for iterations in [1, 2, 3, 85, 86, 255, 256, 257, 1_000, 65_536, 100_003] {
        assert_eq!(
            host.plain(iterations),
            Routine::Plain.expected_sum(iterations, Features::default()),
            "{iterations} iterations"
        );
    }
}

#[test]
fn a_thread_that_does_not_answer_is_left_behind() {
    let watched = Watched::<()>::spawn(|_| thread::sleep(Duration::from_secs(3))).unwrap();
    let started = Instant::now();
    assert!(matches!(watched.next(Duration::from_millis(20)), Answer::Hung));
    watched.close();
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[test]
fn a_thread_that_panics_has_ended() {
    let watched = Watched::<()>::spawn(|_| panic!("as the test wants it")).unwrap();
    assert!(matches!(watched.next(Duration::from_secs(5)), Answer::Ended));
    watched.close();
}

#[test]
fn the_result_is_camel_case_json_with_absent_values_as_null() {
    let found = serde_json::to_value(look_at("/nonexistent/kvm")).unwrap();
    let ids: Vec<&str> = found["tiers"].as_array().unwrap().iter().map(|tier| tier["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["open", "api-version", "create-vm", "real-mode-hlt", "long-mode"]);
    assert_eq!(ids, TierId::ALL.map(|id| id.to_string()));
    assert_eq!(found["tiers"][1]["outcome"], "not-run");
    assert_eq!(found["verdict"], "unusable");
    assert!(
        found["insnEmulation"].is_null() && found["durationMs"].is_f64() && found["tiers"][0]["durationMs"].is_f64()
    );

    let evidence = evidence(loop_of(4_000, 20_668.0, Some(10.1), None), None, &[("int3/iretq", emulation_failure())]);
    let json = serde_json::to_value(&evidence).unwrap();
    assert!(json["plain"]["before"].is_null() && json["kernel"].is_null());
    assert_eq!(json["plain"]["hostNsPerIteration"], 10.1);
    assert_eq!((&json["statistic"], &json["time"]), (&"missing".into(), &"emulated".into()));
    assert_eq!(json["stoppedOn"][0]["emulationFailure"], true);
}
