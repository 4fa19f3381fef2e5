//! Evidence to verdict.

use kvm_bindings::KVM_INTERNAL_ERROR_DELIVERY_EV;

use super::*;

#[test]
fn a_host_whose_hardware_runs_both_loops_is_native() {
    let evidence = evidence(native_plain(), Some(native_kernel()), &[]);
    assert_eq!(judge(&evidence, None), Verdict::Native);
    let tier = describe(&evidence, None);
    assert_eq!((tier.outcome, tier.remedy), (Outcome::Ok, None));
}

#[test]
fn a_native_host_with_shadow_paging_stays_native_although_it_emulates_invlpg() {
    let kernel = loop_of(100_000, 900.0, None, Some(1_600));
    assert_eq!(judge(&evidence(native_plain(), Some(kernel), &[]), None), Verdict::Native);
}

#[test]
fn a_native_host_without_the_statistic_is_native_by_its_time() {
    let plain = loop_of(500_000, 13.4, Some(12.9), None);
    let evidence = evidence(plain, Some(loop_of(100_000, 420.0, None, None)), &[]);
    assert_eq!((evidence.statistic, evidence.time), (Signal::Missing, Signal::Hardware));
    assert_eq!(judge(&evidence, None), Verdict::Native);
    assert!(describe(&evidence, None).detail.contains("no insn_emulation statistic"));
}

#[test]
fn the_statistic_alone_shows_emulation() {
    let plain = loop_of(4_000, 13.4, Some(12.9), Some(84_000));
    let evidence = evidence(plain, Some(loop_of(100_000, 420.0, None, Some(3))), &[]);
    assert_eq!(evidence.time, Signal::Hardware);
    assert_eq!(judge(&evidence, None), Verdict::Emulated);
}

#[test]
fn the_statistic_shows_emulation_of_kernel_instructions_only() {
    let kernel = loop_of(100_000, 9_000.0, None, Some(700_000));
    let evidence = evidence(native_plain(), Some(kernel), &[]);
    assert_eq!(judge(&evidence, None), Verdict::Emulated);
    assert!(describe(&evidence, None).detail.contains("with 7.0 emulated instructions each"));
}

#[test]
fn the_time_alone_shows_emulation_where_the_statistic_is_missing() {
    let plain = loop_of(4_000, 20_668.0, Some(10.1), None);
    let evidence = evidence(plain, Some(loop_of(100_000, 30_000.0, None, None)), &[]);
    assert_eq!((evidence.statistic, evidence.time), (Signal::Missing, Signal::Emulated));
    assert_eq!(judge(&evidence, None), Verdict::Emulated);
}

#[test]
fn the_time_shows_emulation_by_a_hypervisor_below_that_the_statistic_cannot_see() {
    let plain = loop_of(4_000, 20_668.0, Some(10.1), Some(0));
    let evidence = evidence(plain, Some(native_kernel()), &[]);
    assert_eq!((evidence.statistic, evidence.time), (Signal::Hardware, Signal::Emulated));
    assert_eq!(judge(&evidence, None), Verdict::Emulated);
}

#[test]
fn an_internal_error_alone_shows_emulation() {
    let stops = [("lock cmpxchg16b", emulation_failure()), ("int3/iretq", emulation_failure())];
    let evidence = evidence(loop_of(500_000, 13.4, Some(12.9), None), None, &stops);
    assert_eq!(judge(&evidence, None), Verdict::Emulated);
    let detail = describe(&evidence, None).detail;
    assert!(detail.contains("stopped on lock cmpxchg16b, int3/iretq (KVM_EXIT_INTERNAL_ERROR, suberror 1"), "{detail}");
}

#[test]
fn an_emulator_that_did_not_finish_one_iteration_is_seen_by_the_statistic() {
    let plain = LoopEvidence { before: counters(0), after: counters(250_000), ..LoopEvidence::default() };
    let evidence = evidence(plain, None, &[("load/store", Stop::Deadline)]);
    assert_eq!(judge(&evidence, Some(&Stop::Deadline)), Verdict::Emulated);
}

#[test]
fn a_loop_that_did_not_complete_is_never_native() {
    let stops = [
        Stop::Deadline,
        Stop::Shutdown,
        Stop::FailEntry(0x8000_0021),
        Stop::WrongSum { got: 1, expected: 2 },
        Stop::InternalError { suberror: KVM_INTERNAL_ERROR_DELIVERY_EV },
    ];
    for stop in stops {
        let kernel = LoopEvidence { completed: false, iterations: 98_000, ..native_kernel() };
        let evidence = evidence(native_plain(), Some(kernel), &[("all kinds in turn", stop.clone())]);
        assert_eq!(judge(&evidence, Some(&stop)), Verdict::Unusable, "{stop}");
        let tier = describe(&evidence, Some(&stop));
        assert_eq!(tier.outcome, Outcome::Failed);
        assert!(tier.remedy.is_some());
    }
    assert_eq!(judge(&evidence(native_plain(), None, &[]), None), Verdict::Unusable);
    assert_eq!(judge(&InsnEmulation::default(), None), Verdict::Unusable);
}

#[test]
fn a_host_that_fails_before_the_last_tier_is_unusable_whatever_the_evidence() {
    let evidence = evidence(native_plain(), Some(native_kernel()), &[]);
    for failed in 0..4 {
        let tiers: Vec<Tier> = TierId::ALL
            .iter()
            .enumerate()
            .map(|(index, id)| match index {
                index if index < failed => Tier::ok(*id, String::new()),
                index if index == failed => Tier::failed(*id, String::new(), None),
                _ => Tier::not_run(*id, TierId::ALL[failed]),
            })
            .collect();
        assert_eq!(verdict(&tiers, Some(&evidence)), Verdict::Unusable);
    }
    assert_eq!(verdict(&[], None), Verdict::Unusable);
}
