//! Who may go next: a pure function of what stands in the ledger.

use serde::{Deserialize, Serialize};

/// What somebody wants of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Want {
    /// Room for a box.
    Box,
    /// The host for one process alone: nobody else's box runs meanwhile.
    Exclusive,
}

/// How far somebody has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stand {
    /// In the queue.
    Waiting,
    /// Let in. A box boots: its memory and its CPUs count.
    Booting,
    /// A box is ready: its memory counts. The exclusive holder has the host.
    Running,
}

/// One entry of the ledger, as it stands in its file. The order of entries is the order in which they came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Place in the queue; smaller came earlier.
    #[serde(default)]
    pub seq: u64,
    /// What is wanted.
    pub want: Want,
    /// How far it has come.
    pub stand: Stand,
    /// The box's id, or a word for who wants the host alone.
    pub id: String,
    /// What a person calls it: the box's name, the test that wants it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Guest memory in MiB; 0 for an exclusive entry.
    pub memory_mib: u64,
    /// Virtual CPUs; 0 for an exclusive entry.
    pub cpus: u64,
    /// The process, as it calls itself: for messages only, it may count in another namespace.
    pub pid: u32,
    /// Random, one a process: tells the entries of one process from all others.
    pub process: String,
}

/// What all boxes together may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// Guest memory of all boxes that boot or run, in MiB.
    pub max_memory_mib: u64,
    /// Boxes that boot or run at once.
    #[serde(default)]
    pub max_boxes: Option<u64>,
    /// Virtual CPUs of all boxes that boot. One that has more of them boots alone.
    pub max_booting_cpus: u64,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// It is its turn.
    Go,
    /// It waits. Entries by their place in the list that was asked about.
    Wait {
        /// What is short.
        why: Short,
        /// Who has what it waits for.
        holders: Vec<usize>,
        /// Who is before it in the queue.
        ahead: Vec<usize>,
    },
}

/// What somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Short {
    /// Another process has the host alone.
    Exclusive,
    /// Others have boxes, and the host is wanted alone.
    Others,
    /// Memory.
    Memory,
    /// Places for boxes.
    Boxes,
    /// CPUs to boot on.
    Cpus,
    /// Others came first.
    Queue,
}

/// Whether the waiting entry at `me` may go. `entries` are in the order of their places.
///
/// The queue is strict: nobody overtakes, so that a large box is not starved by small ones. The one exception is the
/// process that has the host alone: those who wait, wait for it.
pub fn decide(entries: &[Entry], me: usize, limits: &Limits) -> Answer {
    let Some(mine) = entries.get(me) else { return Answer::Go };
    let indices = |wanted: &dyn Fn(usize, &Entry) -> bool| -> Vec<usize> {
        (0..entries.len()).filter(|&index| index != me && wanted(index, &entries[index])).collect()
    };
    let others = |entry: &Entry| entry.process != mine.process;
    let live = |entry: &Entry| entry.stand != Stand::Waiting;
    let alone = entries.iter().any(|entry| entry.want == Want::Exclusive && live(entry) && !others(entry));
    let ahead = indices(&|_, entry| !live(entry) && entry.seq < mine.seq && !(alone && others(entry)));
    let wait = |why, holders| Answer::Wait { why, holders, ahead: ahead.clone() };

    let exclusive = indices(&|_, entry| entry.want == Want::Exclusive && live(entry) && others(entry));
    if !exclusive.is_empty() {
        return wait(Short::Exclusive, exclusive);
    }
    if mine.want == Want::Exclusive {
        // Its own boxes may run: they are the lane's.
        let foreign = indices(&|_, entry| live(entry) && others(entry));
        if !foreign.is_empty() {
            return wait(Short::Others, foreign);
        }
    } else {
        let boxes = indices(&|_, entry| live(entry) && entry.want == Want::Box);
        let booting: Vec<usize> =
            boxes.iter().copied().filter(|&index| entries[index].stand == Stand::Booting).collect();
        let memory: u64 = boxes.iter().map(|&index| entries[index].memory_mib).sum();
        let cpus: u64 = booting.iter().map(|&index| entries[index].cpus).sum();
        if memory.saturating_add(mine.memory_mib) > limits.max_memory_mib {
            return wait(Short::Memory, boxes);
        }
        if limits.max_boxes.is_some_and(|most| boxes.len() as u64 >= most) {
            return wait(Short::Boxes, boxes);
        }
        if !booting.is_empty() && cpus.saturating_add(mine.cpus) > limits.max_booting_cpus {
            return wait(Short::Cpus, booting);
        }
    }
    if ahead.is_empty() { Answer::Go } else { wait(Short::Queue, Vec::new()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits { max_memory_mib: 1000, max_boxes: Some(4), max_booting_cpus: 2 };

    fn entry(seq: u64, stand: Stand, memory_mib: u64, process: &str) -> Entry {
        Entry {
            seq,
            want: Want::Box,
            stand,
            id: format!("b{seq}"),
            label: None,
            memory_mib,
            cpus: 1,
            pid: 1,
            process: process.to_owned(),
        }
    }

    fn alone(seq: u64, stand: Stand, process: &str) -> Entry {
        Entry { want: Want::Exclusive, cpus: 0, ..entry(seq, stand, 0, process) }
    }

    fn why(entries: &[Entry], me: usize) -> Option<Short> {
        match decide(entries, me, &LIMITS) {
            Answer::Go => None,
            Answer::Wait { why, .. } => Some(why),
        }
    }

    use Stand::{Booting, Running, Waiting};

    #[test]
    fn memory_is_used_up_to_its_limit_and_not_beyond() {
        let fits = [entry(1, Running, 600, "a"), entry(2, Waiting, 400, "b")];
        assert_eq!(decide(&fits, 1, &LIMITS), Answer::Go);
        let beyond = [entry(1, Running, 600, "a"), entry(2, Waiting, 401, "b")];
        let expected = Answer::Wait { why: Short::Memory, holders: vec![0], ahead: vec![] };
        assert_eq!(decide(&beyond, 1, &LIMITS), expected);
    }

    #[test]
    fn boxes_are_counted_whether_they_boot_or_run() {
        let four: Vec<Entry> = (1..5).map(|seq| entry(seq, Running, 1, "a")).collect();
        let mut asked = four.clone();
        asked.push(entry(5, Waiting, 1, "b"));
        assert_eq!(why(&asked, 4), Some(Short::Boxes));
        asked.remove(0);
        assert_eq!(why(&asked, 3), None);
    }

    #[test]
    fn only_boxes_that_boot_hold_cpus_and_one_that_has_too_many_boots_alone() {
        let booting = [entry(1, Booting, 1, "a"), entry(2, Booting, 1, "a"), entry(3, Waiting, 1, "b")];
        assert_eq!(why(&booting, 2), Some(Short::Cpus));
        let ready = [entry(1, Running, 1, "a"), entry(2, Booting, 1, "a"), entry(3, Waiting, 1, "b")];
        assert_eq!(why(&ready, 2), None);
        let large = Entry { cpus: 8, ..entry(3, Waiting, 1, "b") };
        assert_eq!(why(&[entry(1, Running, 1, "a"), large.clone()], 1), None);
        assert_eq!(why(&[entry(1, Booting, 1, "a"), large], 1), Some(Short::Cpus));
    }

    #[test]
    fn nobody_overtakes() {
        let entries = [entry(1, Running, 900, "a"), entry(2, Waiting, 500, "b"), entry(3, Waiting, 10, "c")];
        assert_eq!(why(&entries, 1), Some(Short::Memory));
        let expected = Answer::Wait { why: Short::Queue, holders: vec![], ahead: vec![1] };
        assert_eq!(decide(&entries, 2, &LIMITS), expected);
    }

    #[test]
    fn the_host_alone_is_had_when_nobody_elses_box_runs() {
        let entries = [entry(1, Running, 1, "a"), alone(2, Waiting, "b")];
        assert_eq!(why(&entries, 1), Some(Short::Others));
        let own = [entry(1, Running, 1, "b"), alone(2, Waiting, "b")];
        assert_eq!(why(&own, 1), None);
    }

    #[test]
    fn who_has_the_host_alone_boots_past_those_who_wait_for_it() {
        let entries = [alone(1, Running, "a"), entry(2, Waiting, 1, "b"), entry(3, Waiting, 1, "a")];
        assert_eq!(why(&entries, 1), Some(Short::Exclusive));
        assert_eq!(why(&entries, 2), None);
        let queue = [alone(1, Running, "a"), entry(2, Waiting, 1, "a"), entry(3, Waiting, 1, "a")];
        assert_eq!(why(&queue, 2), Some(Short::Queue), "its own boxes keep their order");
    }

    #[test]
    fn a_wait_for_the_host_alone_holds_back_those_who_come_later() {
        let entries = [entry(1, Running, 1, "a"), alone(2, Waiting, "b"), entry(3, Waiting, 1, "a")];
        assert_eq!(why(&entries, 2), Some(Short::Queue));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Ask { memory: u64, cpus: u64, process: usize, exclusive: bool },
        Ready(usize),
        Leave(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1u64..=1000, 1u64..5, 0usize..3, prop::bool::weighted(0.1))
                .prop_map(|(memory, cpus, process, exclusive)| Step::Ask { memory, cpus, process, exclusive }),
            any::<prop::sample::Index>().prop_map(|index| Step::Ready(index.index(64))),
            any::<prop::sample::Index>().prop_map(|index| Step::Leave(index.index(64))),
        ]
    }

    fn holds(entries: &[Entry]) -> bool {
        let live = || entries.iter().filter(|entry| entry.stand != Waiting);
        let boxes = || live().filter(|entry| entry.want == Want::Box);
        let booting: Vec<&Entry> = boxes().filter(|entry| entry.stand == Booting).collect();
        let alone: Vec<&Entry> = live().filter(|entry| entry.want == Want::Exclusive).collect();
        boxes().map(|entry| entry.memory_mib).sum::<u64>() <= LIMITS.max_memory_mib
            && boxes().count() as u64 <= 4
            && (booting.len() < 2 || booting.iter().map(|entry| entry.cpus).sum::<u64>() <= LIMITS.max_booting_cpus)
            && alone.iter().all(|holder| live().all(|entry| entry.process == holder.process))
    }

    proptest! {
        #[test]
        fn whatever_is_asked_in_whatever_order_the_limits_hold_and_everybody_gets_a_turn(
            steps in proptest::collection::vec(step(), 1..60),
        ) {
            let mut entries: Vec<Entry> = Vec::new();
            let admit = |entries: &mut Vec<Entry>| {
                loop {
                    let next = (0..entries.len()).find(|&index| {
                        entries[index].stand == Waiting && decide(entries, index, &LIMITS) == Answer::Go
                    });
                    let Some(index) = next else { break };
                    entries[index].stand = if entries[index].want == Want::Exclusive { Running } else { Booting };
                    assert!(holds(entries), "{entries:?}");
                }
            };
            for (seq, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Ask { memory, cpus, process, exclusive } => {
                        let process = ["a", "b", "c"][process];
                        let wanted = entry(seq as u64, Waiting, memory, process);
                        entries.push(if exclusive { alone(seq as u64, Waiting, process) } else { Entry { cpus, ..wanted } });
                    }
                    Step::Ready(index) => {
                        let booting = entries.get_mut(index).filter(|entry| entry.stand == Booting);
                        if let Some(entry) = booting { entry.stand = Running; }
                    }
                    Step::Leave(index) => if index < entries.len() { entries.remove(index); },
                }
                admit(&mut entries);
            }
            // When all who have something give it back, the queue empties: nobody waits for nothing.
            while !entries.is_empty() {
                let live = entries.iter().position(|entry| entry.stand != Waiting);
                prop_assert!(live.is_some(), "all wait, nobody runs: {entries:?}");
                entries.remove(live.unwrap_or(0));
                admit(&mut entries);
            }
        }
    }
}
