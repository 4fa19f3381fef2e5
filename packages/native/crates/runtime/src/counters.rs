//! KVM's counters of a box, read over QMP at its marks and kept in counters.jsonl.
//!
//! Format: QEMU's qapi/stats.json (7.1 and later). It needs no privilege, only the monitor. The boot does not wait for it:
//! a task of its own follows the marks, so a sample is a little later than its mark, and both times are in the record.
//! QEMU before 8.1 interrupts every vCPU to answer (accel/kvm/kvm-all.c, `run_on_cpu`), later ones read a descriptor that
//! they keep. There the first sample is left out: nothing ran before it, so its counters are known to be 0.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::board::Clock;
use crate::clock::now_ns;
use crate::fault::Fault;
use crate::machine::{Live, Machine};
use crate::plan::Accel;
use crate::qmp::Qmp;

/// The marks at which a phase of a boot ends; marks of texts on the console join them.
const MARKS: [&str; 8] = [
    "vm-start",
    "kernel-first-line",
    "init-run",
    "switch-root",
    "agent-ready",
    "ready",
    "first-login-begin",
    "first-login-end",
];
/// QEMU answers in 2 ms. A monitor that takes longer than this at the end of a box must not hold it.
const LAST_GRACE: Duration = Duration::from_millis(500);
/// The same while it runs and somebody waits.
const NOW_LIMIT: Duration = Duration::from_secs(10);
/// How long the task sleeps at most before it looks again; marks and the engine's end wake it.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// The reader of one box's counters.
#[derive(Debug)]
pub struct Counters {
    /// `cpu-index` by QOM path: QEMU gives the vCPUs in any order and names them by path only.
    index_of: BTreeMap<String, u64>,
    /// Held over a sample: its marks are sampled once, whoever comes for them.
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    /// Marks of the board that were looked at.
    seen: usize,
    /// Marks that have no sample yet.
    wanted: Vec<String>,
}

/// Begins to follow the marks of a box whose engine runs; returns at once.
pub(crate) fn start(machine: &Arc<Machine>, live: &Arc<Live>, proved: Accel) {
    if proved == Accel::Tcg {
        machine.record.counters(&json!({
            "atNs": now_ns(), "kind": "kvm-none",
            "why": "the accelerator is tcg: QEMU's translator has no exits, and no counters of them",
        }));
        return;
    }
    let (machine, live) = (Arc::clone(machine), Arc::clone(live));
    tokio::spawn(async move {
        tokio::select! {
            biased;
            // The end of the engine is no fault of its counters.
            _ = machine.wait_exit() => {}
            followed = follow(&machine, &live) => if let Err(fault) = followed {
                none(&machine, None, &fault);
            }
        }
    });
}

/// The counters as they are now, and those of the marks that have none yet; an error where there is nothing to read.
pub async fn now(machine: &Machine) -> Result<(), Fault> {
    let need = "its counters are read while it runs under kvm with `record.counters`";
    let state = Fault::State { state: machine.state().name(), need };
    let live = machine.live().ok_or(state.clone())?;
    if !counted(machine, &live) {
        return Err(state);
    }
    let deadline = (Instant::now() + NOW_LIMIT, NOW_LIMIT.as_millis() as u64);
    machine.race(sample_now(machine, &live, &[]), "the counters", Some(deadline)).await
}

/// One more sample, of a box that is about to be stopped; bounded.
pub(crate) async fn last(machine: &Machine, live: &Live) {
    if !counted(machine, live) {
        return;
    }
    match tokio::time::timeout(LAST_GRACE, sample_now(machine, live, &["stop-begin"])).await {
        Ok(Err(fault)) if machine.exit().is_none() => none(machine, Some("stop-begin"), &fault),
        Ok(_) => {}
        Err(_) => {
            let late = Fault::Qmp { command: "query-stats".into(), reason: "no answer within 500 ms".into() };
            none(machine, Some("stop-begin"), &late);
        }
    }
}

fn counted(machine: &Machine, live: &Live) -> bool {
    live.plan.counters && machine.proved() == Some(Accel::Kvm)
}

async fn sample_now(machine: &Machine, live: &Live, marks: &[&str]) -> Result<(), Fault> {
    let counters = counters_of(machine, live).await?;
    counters.catch_up(machine, &live.qmp).await?;
    counters.sample(machine, &live.qmp, marks).await
}

fn none(machine: &Machine, mark: Option<&str>, fault: &Fault) {
    let mut line = json!({ "atNs": now_ns(), "kind": "kvm-none", "why": fault.to_string() });
    if let Some(mark) = mark {
        line["mark"] = json!(mark);
    }
    machine.record.counters(&line);
}

/// The reader of this box's counters; whoever comes first asks what there is to read, and the answer goes into the record.
async fn counters_of<'a>(machine: &'a Machine, live: &Live) -> Result<&'a Counters, Fault> {
    let asked = machine.counters.get_or_try_init(|| async {
        let (version, _) = live.qmp.execute("query-version", None).await?;
        let qemu = |part: &str| version["qemu"][part].as_u64().unwrap_or(0);
        let kicks = (qemu("major"), qemu("minor")) < (8, 1);
        let asked_ns = now_ns();
        let (schemas, at_ns) = live.qmp.execute("query-stats-schemas", Some(json!({ "provider": "kvm" }))).await?;
        let (cpus, _) = live.qmp.execute("query-cpus-fast", None).await?;
        machine.record.counters(&json!({
            "atNs": at_ns, "askedNs": asked_ns, "kind": "kvm-schema",
            "engine": format!("{}.{}.{}", qemu("major"), qemu("minor"), qemu("micro")),
            "kicks": kicks, "schemas": schemas,
        }));
        let cpus = cpus.as_array().into_iter().flatten();
        let index_of = cpus.filter_map(|cpu| Some((cpu["qom-path"].as_str()?.to_owned(), cpu["cpu-index"].as_u64()?)));
        let wanted = MARKS.iter().copied().filter(|mark| !(kicks && *mark == "vm-start"));
        let wanted = wanted.chain(live.plan.console_marks.iter().map(|mark| mark.mark.as_str()));
        let progress = Progress { seen: 0, wanted: wanted.map(str::to_owned).collect() };
        Ok(Counters { index_of: index_of.collect(), progress: Mutex::new(progress) })
    });
    asked.await
}

async fn follow(machine: &Machine, live: &Live) -> Result<(), Fault> {
    let counters = counters_of(machine, live).await?;
    loop {
        let (seen, done) = counters.catch_up(machine, &live.qmp).await?;
        if done {
            return Ok(());
        }
        machine.board.wait_beyond(seen, LOOK_AGAIN).await;
    }
}

impl Counters {
    /// Samples the marks that were set since the last call; gives how many marks it has seen, and whether all that are
    /// wanted were among them.
    async fn catch_up(&self, machine: &Machine, qmp: &Qmp) -> Result<(usize, bool), Fault> {
        let mut progress = self.progress.lock().await;
        let Progress { seen, wanted } = &mut *progress;
        let marks = machine.board.since(*seen);
        *seen += marks.len();
        let mut due = Vec::new();
        for mark in marks.iter().filter(|mark| mark.clock == Clock::Host) {
            if let Some(at) = wanted.iter().position(|one| *one == mark.mark) {
                wanted.swap_remove(at);
                due.push(mark.mark.as_str());
            }
        }
        if !due.is_empty() {
            self.sample(machine, qmp, &due).await?;
        }
        Ok((*seen, wanted.is_empty()))
    }

    /// Reads all counters once and keeps them as those of these marks, which came before; without one, as those of now.
    async fn sample(&self, machine: &Machine, qmp: &Qmp, marks: &[&str]) -> Result<(), Fault> {
        let ask = |target: &str| json!({ "target": target, "providers": [{ "provider": "kvm" }] });
        let asked_ns = now_ns();
        let (of_vcpus, _) = qmp.execute("query-stats", Some(ask("vcpu"))).await?;
        let (of_vm, at_ns) = qmp.execute("query-stats", Some(ask("vm"))).await?;
        let mut line = json!({
            "atNs": at_ns, "askedNs": asked_ns, "kind": "kvm",
            "values": values(of_vm.as_array().and_then(|all| all.first())),
            "vcpus": self.vcpus(&of_vcpus),
        });
        if let Some(first) = marks.first() {
            line["mark"] = json!(first);
        }
        if marks.len() > 1 {
            line["marks"] = json!(marks);
        }
        machine.record.counters(&line);
        Ok(())
    }

    fn vcpus(&self, answer: &Value) -> Vec<Value> {
        let each = answer.as_array().into_iter().flatten().filter_map(|entry| {
            let index = self.index_of.get(entry["qom-path"].as_str()?)?;
            Some((*index, json!({ "index": index, "values": values(Some(entry)) })))
        });
        let by_index: BTreeMap<u64, Value> = each.collect();
        by_index.into_values().collect()
    }
}

/// The values of one entry of a `query-stats` reply by name: numbers, booleans and histograms as QEMU has them.
fn values(entry: Option<&Value>) -> Map<String, Value> {
    let stats = entry.and_then(|entry| entry["stats"].as_array()).into_iter().flatten();
    stats.filter_map(|stat| Some((stat["name"].as_str()?.to_owned(), stat.get("value")?.clone()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vcpus_are_told_apart_by_their_path_and_come_in_the_order_of_their_numbers() {
        let of = |path: &str, exits: u64| json!({ "provider": "kvm", "qom-path": path, "stats": [{ "name": "exits", "value": exits }] });
        let index_of = BTreeMap::from([("/d[0]".to_owned(), 0), ("/d[2]".to_owned(), 1)]);
        let counters = Counters { index_of, progress: Mutex::default() };
        let answer = json!([of("/d[2]", 5), of("/d[0]", 7), of("/gone", 9)]);
        let expected = json!([
            { "index": 0, "values": { "exits": 7 } },
            { "index": 1, "values": { "exits": 5 } },
        ]);
        assert_eq!(json!(counters.vcpus(&answer)), expected);
    }

    #[test]
    fn booleans_and_histograms_are_kept_as_they_are() {
        let entry = json!({ "provider": "kvm", "stats": [
            { "name": "guest_mode", "value": false },
            { "name": "halt_wait_hist", "value": [0, 3] },
            { "name": "exits", "value": 7 },
        ] });
        let kept = values(Some(&entry));
        assert_eq!(json!(kept), json!({ "guest_mode": false, "halt_wait_hist": [0, 3], "exits": 7 }));
        assert!(values(None).is_empty(), "what was not answered is not 0");
    }
}
