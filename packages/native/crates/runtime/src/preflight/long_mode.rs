//! The last tier: does hardware run what guest kernels run?

use std::time::{Duration, Instant};

use super::classify::{is_emulated, statistic_signal, time_signal};
use super::finding::{Counters, InsnEmulation, LoopEvidence, Signal, StoppedOn};
use super::guest::{
    CPUID_CMPXCHG16B, CPUID_XSAVE, Features, HostTwin, RESULT_PORT, Routine, enter_long_mode, extended_state,
    kernel_gs_base, load, order, start_registers,
};
use super::machine::{Exit, Machine, Stop, Vcpu, setup};
use super::stats::VcpuStats;

/// Iterations of the loop with the instructions that only kernels use.
const KERNEL_ITERATIONS: u64 = 100_000;
/// So many between two exits: the exits then cost a real host less than a hundredth of the time.
const KERNEL_ITERATIONS_AT_ONCE: u64 = 2_000;
/// The first run pays for page faults and cold caches, and is not timed.
const PLAIN_ITERATIONS_COLD: u64 = 64;
/// The plain loop starts with so many iterations, and doubles them until a run takes [`LONG_ENOUGH`].
const PLAIN_ITERATIONS_FIRST: u64 = 1_000;
const LONG_ENOUGH: Duration = Duration::from_millis(2);
/// Runs of that length; the best counts, since other work on the host only ever adds time.
const PLAIN_RUNS: u32 = 4;
/// Iterations of a single kind of instruction.
const SINGLE_ITERATIONS: u64 = 16;

/// What came of the tier.
#[derive(Debug)]
pub(super) struct Examined {
    pub(super) evidence: InsnEmulation,
    /// Why the guest did not come to its end, other than by an instruction that KVM could not emulate.
    pub(super) stop: Option<Stop>,
}

/// Runs the guest's loops on a fresh vCPU.
pub(super) fn examine(machine: &Machine) -> Result<Examined, Stop> {
    let mut guest = Guest::new(machine)?;
    let mut evidence = InsnEmulation::default();
    let stop = guest.observe(&mut evidence).err();
    evidence.statistic = statistic_signal([&evidence.plain].into_iter().chain(&evidence.kernel));
    evidence.time = time_signal(&evidence.plain);
    Ok(Examined { evidence, stop })
}

struct Guest<'machine> {
    vcpu: Vcpu<'machine>,
    features: Features,
    statistics: Option<VcpuStats>,
}

impl<'machine> Guest<'machine> {
    fn new(machine: &'machine Machine) -> Result<Self, Stop> {
        let features =
            Features { xsave: machine.has_leaf1_ecx(CPUID_XSAVE), cmpxchg16b: machine.has_leaf1_ecx(CPUID_CMPXCHG16B) };
        load(&machine.memory);
        let vcpu = machine.vcpu(1)?;
        let mut sregs = setup("KVM_GET_SREGS", vcpu.fd.get_sregs())?;
        enter_long_mode(&mut sregs, features);
        setup("KVM_SET_SREGS", vcpu.fd.set_sregs(&sregs))?;
        if features.xsave {
            setup("KVM_SET_XCRS", vcpu.fd.set_xcrs(&extended_state()))?;
        }
        vcpu.set_msr(kernel_gs_base())?;
        let statistics = VcpuStats::open(&vcpu.fd);
        let guest = Self { vcpu, features, statistics };
        guest.restart()?;
        Ok(guest)
    }

    fn observe(&mut self, evidence: &mut InsnEmulation) -> Result<(), Stop> {
        self.plain_loop(&mut evidence.plain).or_else(|stop| self.note(Routine::Plain, stop, evidence))?;
        evidence.statistic = statistic_signal([&evidence.plain]);
        evidence.time = time_signal(&evidence.plain);
        self.each_kind(evidence)?;
        // Where emulation is proved, the long loop would only take long.
        if is_emulated(evidence) {
            return Ok(());
        }
        let kernel = evidence.kernel.insert(LoopEvidence::default());
        self.kernel_loop(kernel).or_else(|stop| self.note(Routine::Mix, stop, evidence))
    }

    fn plain_loop(&mut self, evidence: &mut LoopEvidence) -> Result<(), Stop> {
        let mut host = HostTwin::new();
        let (mut iterations, mut runs) = (PLAIN_ITERATIONS_FIRST, 0);
        let (mut best_guest, mut best_host) = (Duration::MAX, Duration::MAX);
        evidence.before = self.counters();
        let cold = self.call(Routine::Plain, PLAIN_ITERATIONS_COLD);
        evidence.after = self.counters();
        cold?;
        host.plain(PLAIN_ITERATIONS_COLD);
        evidence.before = evidence.after;
        while runs < PLAIN_RUNS {
            let took = self.call(Routine::Plain, iterations);
            evidence.after = self.counters();
            let took = took?;
            evidence.iterations += iterations;
            // In turn with the guest, so that both meet the same clock speed and the same neighbours.
            let host_started = Instant::now();
            std::hint::black_box(host.plain(iterations));
            let host_took = host_started.elapsed();
            if runs == 0 && took < LONG_ENOUGH {
                iterations *= 2;
                continue;
            }
            runs += 1;
            best_guest = best_guest.min(took);
            best_host = best_host.min(host_took);
            evidence.ns_per_iteration = Some(per_iteration(best_guest, iterations));
            evidence.host_ns_per_iteration = Some(per_iteration(best_host, iterations));
            if statistic_signal([&*evidence]) == Signal::Emulated {
                // More runs would only sharpen a number that is off by a factor of hundreds.
                break;
            }
        }
        evidence.completed = true;
        Ok(())
    }

    /// Each kind of instruction on its own, so that the finding can name those that KVM cannot do.
    fn each_kind(&mut self, evidence: &mut InsnEmulation) -> Result<(), Stop> {
        let Features { xsave, cmpxchg16b } = self.features;
        let kinds = [
            (Routine::Cmpxchg16b, cmpxchg16b),
            (Routine::Breakpoint, true),
            (Routine::Xsave, xsave),
            (Routine::Swapgs, true),
            (Routine::Msr, true),
            (Routine::Invlpg, true),
        ];
        for (routine, _) in kinds.into_iter().filter(|(_, possible)| *possible) {
            if let Err(stop) = self.call(routine, SINGLE_ITERATIONS) {
                self.note(routine, stop, evidence)?;
            }
        }
        Ok(())
    }

    fn kernel_loop(&mut self, evidence: &mut LoopEvidence) -> Result<(), Stop> {
        let mut best = Duration::MAX;
        evidence.before = self.counters();
        while evidence.iterations < KERNEL_ITERATIONS {
            let took = self.call(Routine::Mix, KERNEL_ITERATIONS_AT_ONCE);
            evidence.after = self.counters();
            best = best.min(took?);
            evidence.iterations += KERNEL_ITERATIONS_AT_ONCE;
            evidence.ns_per_iteration = Some(per_iteration(best, KERNEL_ITERATIONS_AT_ONCE));
        }
        evidence.completed = true;
        Ok(())
    }

    /// Has the guest run a routine; the time from entry to exit, if the sum is right.
    fn call(&mut self, routine: Routine, iterations: u64) -> Result<Duration, Stop> {
        order(&self.vcpu.machine.memory, routine, iterations, self.features);
        let started = Instant::now();
        let exit = self.vcpu.run()?;
        let took = started.elapsed();
        // The port takes four bytes; the sums are compared in their low halves.
        let expected = routine.expected_sum(iterations, self.features) as u32;
        match exit {
            Exit::Out { port: RESULT_PORT, value } if value == expected => Ok(took),
            Exit::Out { port: RESULT_PORT, value: got } => Err(Stop::WrongSum { got, expected }),
            other => Err(Stop::Unexpected(format!("{other:?}"))),
        }
    }

    /// Notes an instruction that stopped the guest. After a failed emulation the guest is put back to its entry and the next
    /// kind can be tried; after anything else its state means nothing.
    fn note(&self, routine: Routine, stop: Stop, evidence: &mut InsnEmulation) -> Result<(), Stop> {
        let emulation_failure = stop.is_emulation_failure();
        evidence.stopped_on.push(StoppedOn {
            instructions: routine.instructions().to_owned(),
            exit: stop.to_string(),
            emulation_failure,
        });
        if emulation_failure { self.restart() } else { Err(stop) }
    }

    fn restart(&self) -> Result<(), Stop> {
        setup("KVM_SET_REGS", self.vcpu.fd.set_regs(&start_registers()))
    }

    fn counters(&self) -> Option<Counters> {
        self.statistics.as_ref().map(VcpuStats::read)
    }
}

fn per_iteration(took: Duration, iterations: u64) -> f64 {
    took.as_nanos() as f64 / iterations as f64
}
