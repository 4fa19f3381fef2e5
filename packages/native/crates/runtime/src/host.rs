//! boot.json: what was asked for, of which host, with which outcome.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::clock::known_tsc_khz;
use crate::fault::{Exit, Failure};
use crate::fingerprint::Fingerprints;
use crate::plan::{Accel, BootPlan};
use crate::process::start_ticks;
use crate::record::RECORD_VERSION;

/// The content of boot.json.
#[derive(Debug)]
pub struct BootFile {
    json: Value,
    /// The accelerator that QMP proved.
    pub proved: Option<Accel>,
}

impl BootFile {
    /// The file of a box that has not been planned yet.
    pub fn new(box_id: &str, name: Option<&str>, start_ns: u64, started_at: &str) -> Self {
        let mut json = json!({
            "version": RECORD_VERSION,
            "boxId": box_id,
            "owner": owner(),
            "host": host_facts(),
            "startedAt": started_at,
            "startNs": start_ns,
            "outcome": "running",
        });
        if let Some(name) = name {
            json["name"] = json!(name);
        }
        Self { json, proved: None }
    }

    /// Adds the plan and the command line.
    pub fn planned(&mut self, plan: &BootPlan, binary: &Path, argv: &[String]) {
        self.json["plan"] = json!(plan);
        self.json["engine"] = json!({ "binary": binary, "argv": argv });
        self.json["accelerator"] = json!({ "asked": plan.engine.asked, "reason": plan.engine.reason });
    }

    /// Adds the fingerprints and the engine's version.
    pub fn fingerprinted(&mut self, prints: Fingerprints) {
        self.json["engine"]["version"] = json!(prints.version);
        self.json["fingerprints"] = json!({ "machine": prints.machine, "engine": prints.engine });
    }

    /// Adds the end of the engine.
    pub fn ended(&mut self, outcome: &str, exit: Exit) {
        self.json["outcome"] = json!(outcome);
        self.json["exit"] = json!(exit);
    }

    /// Adds why the boot failed.
    pub fn failed(&mut self, failure: &Failure, killed: bool) {
        self.noted(failure.code, &failure.message);
        if killed {
            self.json["outcome"] = json!("killed");
        }
        if let (Some(stage), Some(since_ms)) = (&failure.last_mark, failure.since_ms) {
            self.json["error"]["lastMark"] = json!(stage);
            self.json["error"]["sinceMs"] = json!(since_ms);
        }
    }

    /// Adds an error without more circumstances.
    pub fn noted(&mut self, code: &str, message: &str) {
        self.json["outcome"] = json!("failed");
        self.json["error"] = json!({ "code": code, "message": message });
    }

    /// The whole file.
    pub fn to_json(&self) -> Value {
        let mut json = self.json.clone();
        // Absent while it is still being measured: no write of this file waits for that.
        if let Some(tsc_khz) = known_tsc_khz() {
            json["host"]["tscKhz"] = json!(tsc_khz);
        }
        if let (Some(proved), Some(accelerator)) = (self.proved, json.get_mut("accelerator")) {
            accelerator["proved"] = json!(proved);
        }
        json
    }
}

/// This process, named so that no other one is ever meant: by its pid in its namespace, its start, the host's boot.
fn owner() -> Value {
    let pid = std::process::id();
    let mut owner = json!({ "pid": pid, "startTicks": start_ticks(pid) });
    if let Ok(namespace) = std::fs::metadata("/proc/self/ns/pid") {
        owner["pidNamespace"] = json!(namespace.ino());
    }
    if let Ok(boot_id) = std::fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        owner["bootId"] = json!(boot_id.trim());
    }
    owner
}

/// Facts about this host that numbers depend on.
pub fn host_facts() -> Value {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu_model = cpuinfo.lines().find_map(|line| Some(line.strip_prefix("model name")?.split_once(':')?.1.trim()));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    json!({
        "cpuModel": cpu_model.unwrap_or("unknown"),
        "cpus": cpus,
        "memoryMib": memory_mib(),
        "kernel": std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        "loadavg1": load(),
    })
}

fn memory_mib() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kib = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(kib.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}

fn load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}
