//! boot.json: what was asked for, of which host, with which outcome.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::clock::known_tsc_khz;
use crate::engine::socket_by_hand;
use crate::fault::{Exit, Failure};
use crate::fingerprint::Fingerprints;
use crate::machine::BoxOrder;
use crate::plan::{Accel, BootPlan, Share};
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
    pub fn new(order: &BoxOrder) -> Self {
        let mut json = json!({
            "version": RECORD_VERSION,
            "boxId": order.id,
            "owner": owner(),
            "host": host_facts(),
            "startedAt": order.started_at,
            "startNs": order.start_ns,
            "keep": order.keep,
            "outcome": "running",
        });
        if let Some(name) = &order.name {
            json["name"] = json!(name);
        }
        if let Some(booted_by) = &order.booted_by {
            json["bootedBy"] = booted_by.clone();
        }
        Self { json, proved: None }
    }

    /// Adds the plan and the command line; `by_hand` is one for a person's terminal.
    pub fn planned(&mut self, plan: &BootPlan, binary: &Path, argv: &[String], by_hand: &[String]) {
        self.json["plan"] = json!(plan);
        let box_id = self.json["boxId"].as_str().unwrap_or_default();
        let serving = plan.shares.iter().map(|share| serve_by_hand(share, &socket_by_hand(box_id, share)));
        let reproduce = serving.chain([shell_line(binary, by_hand)]).collect::<Vec<_>>().join(" ");
        self.json["engine"] = json!({ "binary": binary, "argv": argv, "reproduce": reproduce });
        self.json["accelerator"] = json!({ "asked": plan.engine.asked, "reason": plan.engine.reason });
    }

    /// Adds the engine's process id.
    pub fn spawned(&mut self, pid: u32) {
        self.json["engine"]["pid"] = json!(pid);
    }

    /// Adds the fingerprints and the engine's version.
    pub fn fingerprinted(&mut self, prints: Fingerprints) {
        self.json["engine"]["version"] = json!(prints.version);
        self.json["fingerprints"] = json!({ "machine": prints.machine, "engine": prints.engine });
    }

    /// Adds which files of the record were cut at their bound.
    pub fn truncated(&mut self, files: &[&str]) {
        if !files.is_empty() {
            self.json["truncated"] = json!(files);
        }
    }

    /// Adds the end of the engine.
    pub fn ended(&mut self, outcome: &str, exit: Exit) {
        self.json["outcome"] = json!(outcome);
        self.json["exit"] = json!(exit);
    }

    /// The box was ended before it had an engine.
    pub fn ended_before_it_began(&mut self) {
        self.noted("ERR_BOX_KILLED", "the box was killed while waiting for its plan");
        self.json["outcome"] = json!("killed");
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

    /// Adds why the harness gave the boot up.
    pub fn gave_up(&mut self, code: &str, message: &str, killed: bool) {
        self.noted(code, message);
        if killed {
            self.json["outcome"] = json!("killed");
        }
    }

    /// Adds an error without more circumstances.
    fn noted(&mut self, code: &str, message: &str) {
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

/// What a person types before the engine so that a share is served: in the background, and ready when the engine asks.
fn serve_by_hand(Share { path, daemon, .. }: &Share, socket: &str) -> String {
    let argv = [daemon.args.clone(), vec![format!("--socket-path={socket}")]].concat();
    let daemon_line = shell_line(&daemon.binary, &argv);
    let (folder, socket) = (shell_word(&path.to_string_lossy()), shell_word(socket));
    let serving = match daemon.readonly_mounts {
        // What is mounted below the folder is left out here: mount(8) makes only the folder itself read-only.
        true => {
            format!("unshare --mount sh -c 'mount --bind -o ro \"$0\" \"$0\" && exec \"$@\"' {folder} {daemon_line}")
        }
        false => daemon_line,
    };
    format!("{serving} & until test -S {socket}; do sleep 0.1; done;")
}

/// A command line as a shell takes it.
fn shell_line(program: &Path, argv: &[String]) -> String {
    let words = std::iter::once(program.to_string_lossy().into_owned()).chain(argv.iter().cloned());
    words.map(|word| shell_word(&word)).collect::<Vec<_>>().join(" ")
}

fn shell_word(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./,:=+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
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

/// The host's memory in MiB.
pub fn memory_mib() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kib = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(kib.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}

fn load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_the_line_as_it_was_meant() {
        let words = ["-append", "console=ttyS0 a='b'", "", "x,y=/p:1", "$HOME `id`"].map(str::to_owned);
        let line = shell_line(Path::new("/usr/bin/printf"), &[vec!["%s|".to_owned()], words.to_vec()].concat());
        let ran = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.stdout), words.map(|word| format!("{word}|")).concat());
    }
    #[test]
    fn by_hand_a_share_is_served_read_only_before_the_engine_starts() {
        let share = |readonly_mounts: bool| -> Share {
            let daemon = json!({ "binary": "/v", "args": ["--sandbox=x"], "readonlyMounts": readonly_mounts });
            serde_json::from_value(json!({ "id": "root", "path": "/my root", "daemon": daemon })).unwrap()
        };
        let waits = "--socket-path=/tmp/s & until test -S /tmp/s; do sleep 0.1; done;";
        assert_eq!(serve_by_hand(&share(false), "/tmp/s"), format!("/v --sandbox=x {waits}"));
        let bound = r#"unshare --mount sh -c 'mount --bind -o ro "$0" "$0" && exec "$@"' '/my root'"#;
        assert_eq!(serve_by_hand(&share(true), "/tmp/s"), format!("{bound} /v --sandbox=x {waits}"));
    }
}
