//! Two hashes with their parts: what the guest sees (`machine`), and what runs it (`engine`).
//!
//! Two boots may be compared only where the fingerprints differ in no more than the comparison is about.

use std::collections::HashMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::plan::{Boot, BootPlan};
use crate::qmp::Qmp;

/// A hash and what went into it.
#[derive(Debug, Clone, Serialize)]
pub struct Fingerprint {
    /// SHA-256 of the parts as JSON with sorted keys, in hex.
    pub hash: String,
    /// What went into it, by name.
    pub parts: Value,
}

/// Both fingerprints of a boot.
#[derive(Debug, Clone)]
pub struct Fingerprints {
    /// What the guest sees.
    pub machine: Fingerprint,
    /// What runs it.
    pub engine: Fingerprint,
    /// The engine's version in words.
    pub version: String,
}

/// Asks the engine for what only it knows (the versioned machine type, the features of the CPU) and hashes it.
pub async fn take(plan: &BootPlan, qmp: &Qmp) -> Fingerprints {
    let ask = async |command: &str, arguments: Option<Value>| match qmp.execute(command, arguments).await {
        Ok((value, _)) => value,
        Err(_) => Value::Null,
    };
    let machine_type = ask("qom-get", Some(json!({ "path": "/machine", "property": "type" }))).await;
    let model = json!({ "type": "full", "model": { "name": cpu_name(&plan.cpu_model) } });
    let cpu = ask("query-cpu-model-expansion", Some(model)).await;
    let version = ask("query-version", None).await;
    let binary_sha256 = digest_of(&plan.engine.binary).await;
    let (kernel_cmdline, boot) = match &plan.boot {
        Boot::Direct { cmdline, .. } => (Some(without_tsc(cmdline)), "direct"),
        Boot::Firmware => (None, "firmware"),
        Boot::Image => (None, "image"),
    };
    let mut machine = json!({
        "machineType": machine_type,
        "cpuModel": plan.cpu_model,
        "cpuFeatures": hash(&cpu["model"]["props"]),
        "cpus": plan.cpus,
        "memoryMib": plan.memory_mib,
        "boot": boot,
        "cmdline": kernel_cmdline,
        "disks": plan.disks.iter().map(|disk| json!([disk.id, disk.interface, disk.readonly])).collect::<Vec<_>>(),
        "devices": plan.devices,
        "agent": plan.agent,
        "digests": plan.digests,
    });
    // Absent without any: so the machines of older records still compare.
    if !plan.shares.is_empty() {
        machine["shares"] = plan.shares.iter().map(|share| share.id.as_str()).collect();
    }
    let qemu = &version["qemu"];
    let version = match version["package"].as_str() {
        Some(package) if !package.is_empty() => {
            format!("{}.{}.{} {package}", qemu["major"], qemu["minor"], qemu["micro"])
        }
        _ => format!("{}.{}.{}", qemu["major"], qemu["minor"], qemu["micro"]),
    };
    let mut engine = json!({ "binarySha256": binary_sha256, "accelerator": plan.engine.accel, "version": version });
    for share in &plan.shares {
        engine["shares"][&share.id] = json!(digest_of(&share.daemon.binary).await);
    }
    Fingerprints { machine: print(machine), engine: print(engine), version }
}

async fn digest_of(program: &Path) -> Option<String> {
    let program = program.to_owned();
    tokio::task::spawn_blocking(move || file_sha256(&program)).await.ok().flatten()
}

fn print(parts: Value) -> Fingerprint {
    Fingerprint { hash: hash(&parts), parts }
}

/// serde_json's maps are sorted by key, so equal values have equal text.
fn hash(value: &Value) -> String {
    hex(&Sha256::digest(value.to_string()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The measured frequency differs by a few kHz from boot to boot and tells the guest nothing else.
fn without_tsc(cmdline: &str) -> String {
    let kept: Vec<&str> = cmdline.split_whitespace().filter(|word| !word.starts_with("tsc_early_khz=")).collect();
    kept.join(" ")
}

fn cpu_name(model: &str) -> &str {
    model.split(',').next().unwrap_or(model)
}

/// The SHA-256 of a file, remembered while its inode, size and times stay the same.
pub fn file_sha256(path: &Path) -> Option<String> {
    type Key = (PathBuf, u64, u64, i64, i64);
    static KNOWN: OnceLock<Mutex<HashMap<Key, String>>> = OnceLock::new();
    let meta = std::fs::metadata(path).ok()?;
    let key = (path.to_owned(), meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec());
    let known = KNOWN.get_or_init(Mutex::default);
    if let Some(found) = known.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Some(found.clone());
    }
    let mut file = std::fs::File::open(path).ok()?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => break,
            length => hasher.update(&buffer[..length]),
        }
    }
    let digest = hex(&hasher.finalize());
    known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, digest.clone());
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measured_tsc_frequency_is_no_part_of_a_machine() {
        assert_eq!(without_tsc("console=ttyS0 tsc_early_khz=2000123 panic=-1"), "console=ttyS0 panic=-1");
    }

    #[test]
    fn a_files_digest_follows_its_content() {
        let path = std::env::temp_dir().join(format!("boxlab-digest-{}", std::process::id()));
        std::fs::write(&path, "abc").unwrap();
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(file_sha256(&path).as_deref(), Some(digest));
        std::fs::write(&path, "abcd").unwrap();
        assert_ne!(file_sha256(&path).as_deref(), Some(digest));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file_sha256(&path), None);
    }

    #[test]
    fn the_order_in_which_parts_were_put_in_does_not_matter() {
        let one: Value = serde_json::from_str(r#"{"a":1,"b":{"x":1,"y":2}}"#).unwrap();
        let two: Value = serde_json::from_str(r#"{"b":{"y":2,"x":1},"a":1}"#).unwrap();
        assert_eq!(hash(&one), hash(&two));
        assert_ne!(hash(&one), hash(&json!({ "a": 2, "b": { "x": 1, "y": 2 } })));
    }
}
