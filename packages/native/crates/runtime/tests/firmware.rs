//! Boots firmware-only boxes with the real QEMU, under TCG where nothing else is said, and holds their records against the schema.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use boxlab_runtime::clock::now_ns;
use boxlab_runtime::counters;
use boxlab_runtime::fault::Failure;
use boxlab_runtime::machine::{BoxOrder, Machine, State};
use boxlab_runtime::plan::BootPlan;
use boxlab_runtime::stop::{Step, stop};
use boxlab_runtime::{registry, tokio_runtime};
use serde_json::{Value, json};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("boxlab-{name}-{}-{}", std::process::id(), now_ns()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A disk whose boot sector prints a text on the first serial port and halts.
fn boot_disk(dir: &Path, text: &str) -> PathBuf {
    let mut code = vec![0xfa, 0x31, 0xc0, 0x8e, 0xd8, 0x8e, 0xd0, 0xbc, 0x00, 0x7c]; // cli; segments 0; stack below
    let message = u16::try_from(0x7c00 + code.len() + 17).unwrap().to_le_bytes();
    code.extend([0xbe, message[0], message[1], 0xba, 0xf8, 0x03]); // mov si,message; mov dx,3f8
    code.extend([0xac, 0x84, 0xc0, 0x74, 0x03, 0xee, 0xeb, 0xf8]); // lodsb; test al,al; jz +3; out dx,al; jmp -8
    code.extend([0xf4, 0xeb, 0xfd]); // hlt; jmp -3
    code.extend(text.bytes());
    // SeaBIOS reads nothing from a disk too small to have a geometry.
    let mut disk = vec![0; 1 << 20];
    disk[..code.len()].copy_from_slice(&code);
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    let path = dir.join("boot.img");
    std::fs::write(&path, disk).unwrap();
    path
}

fn order(id: &str, dir: &Path) -> BoxOrder {
    BoxOrder {
        id: id.to_owned(),
        name: Some("a box".to_owned()),
        record_dir: dir.to_owned(),
        aside_dir: dir.with_extension("aside"),
        start_ns: now_ns(),
        started_at: "2026-01-01T00:00:00.000Z".to_owned(),
        keep: "always".to_owned(),
        limit_bytes: 1 << 20,
        booted_by: Some(json!({ "file": "/suite.test.ts", "test": "boots" })),
        owner: 1,
        turn: None,
    }
}

fn plan(disk: &Path, changes: &Value) -> BootPlan {
    let mut plan = json!({
        "engine": { "binary": "qemu-system-x86_64", "accel": "tcg", "asked": "auto", "reason": "a test" },
        "machine": "q35", "cpuModel": "max", "cpus": 1, "memoryMib": 64,
        "boot": { "kind": "firmware" },
        "disks": [{ "id": "d0", "path": disk, "format": "raw", "readonly": false, "interface": "ide" }],
        "devices": { "rng": true, "net": "none", "balloon": false, "hotplugPorts": 0, "ioeventfd": true, "extra": [] },
        "agent": false, "ready": "user:hello", "consoleMarks": [{ "mark": "user:hello", "text": "hello" }],
        "limits": { "bootMs": 20_000, "stopMs": 1000 },
    });
    for (key, value) in changes.as_object().unwrap() {
        plan[key] = value.clone();
    }
    BootPlan::from_json(&plan.to_string()).unwrap()
}

fn machine(folder: &Folder) -> Arc<Machine> {
    let id = folder.0.file_name().unwrap().to_str().unwrap();
    Machine::create(order(id, &folder.0.join("record"))).unwrap()
}

fn boot(machine: &Arc<Machine>, plan: BootPlan) -> Result<(), Box<Failure>> {
    tokio_runtime().block_on(machine.boot(plan)).map_err(Box::new)
}

fn lines(record: &Path, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(record.join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn validate(definition: &str, value: &Value) {
    let mut schema: Value =
        serde_json::from_str(include_str!("../../../../probes/schema/record-v1.schema.json")).unwrap();
    schema["$ref"] = json!(format!("#/$defs/{definition}"));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{error} at {}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{definition}: {errors:?}\n{value:#}");
}

fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

#[test]
fn a_box_boots_and_its_record_is_what_the_schema_says() {
    let folder = Folder::new("firmware");
    let disk = boot_disk(&folder.0, "hello\r\n");
    let machine = machine(&folder);
    boot(&machine, plan(&disk, &json!({}))).unwrap();
    assert_eq!(machine.state(), State::Running);
    let pid = machine.pid().unwrap();
    assert!(alive(pid));
    assert!(machine.usage().unwrap().memory_bytes > 1 << 20);
    boxlab_runtime::stop::count(&machine, Some("ready"));
    assert!(registry::machines().iter().any(|known| known.id == machine.id));
    let stopped = tokio_runtime().block_on(stop(&machine));
    assert_eq!(stopped.by, Step::Quit, "a boot sector listens to no agent and no power button");
    assert!(!alive(pid));
    assert_eq!((machine.state(), machine.usage(), machine.pid()), (State::Stopped, None, None));

    let record = machine.record.dir();
    let file: Value = serde_json::from_slice(&std::fs::read(record.join("boot.json")).unwrap()).unwrap();
    validate("boot", &file);
    assert_eq!((&file["outcome"], &file["name"]), (&json!("stopped"), &json!("a box")));
    assert_eq!(file["accelerator"], json!({ "asked": "auto", "reason": "a test", "proved": "tcg" }));
    assert!(file["fingerprints"]["machine"]["parts"]["machineType"].as_str().unwrap().starts_with("pc-q35-"));
    for (name, definition) in [
        ("marks.jsonl", "mark"),
        ("console.idx.jsonl", "consoleIndex"),
        ("qmp.jsonl", "qmp"),
        ("counters.jsonl", "counters"),
    ] {
        let lines = lines(record, name);
        assert!(!lines.is_empty(), "{name}");
        lines.iter().for_each(|line| validate(definition, line));
    }

    let console = std::fs::read(record.join("console.bin")).unwrap();
    assert!(String::from_utf8_lossy(&console).contains("hello\r\n"));
    let mut offset = 0;
    for line in lines(record, "console.idx.jsonl") {
        assert_eq!(line["offset"], offset, "the index covers the console without holes");
        offset += line["length"].as_u64().unwrap();
    }
    assert_eq!(offset, console.len() as u64);

    let marks: Vec<(String, u64)> = lines(record, "marks.jsonl")
        .iter()
        .map(|line| (line["mark"].as_str().unwrap().to_owned(), line["atNs"].as_u64().unwrap()))
        .collect();
    let names: Vec<&str> = marks.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "start",
            "folder-ready",
            "plan-begin",
            "plan-ready",
            "spawn",
            "engine-main",
            "qmp-ready",
            "vm-start",
            "user:hello",
            "ready",
            "stop-begin",
            "engine-exit"
        ]
    );
    assert!(marks.is_sorted_by_key(|(_, at_ns)| *at_ns), "{marks:?}");
}

#[test]
fn under_tcg_nobody_asks_for_counters_and_the_record_says_why() {
    let folder = Folder::new("counters");
    let machine = machine(&folder);
    let plan = plan(&boot_disk(&folder.0, "hello\r\n"), &json!({ "counters": true }));
    boot(&machine, plan).unwrap();
    let refused = tokio_runtime().block_on(counters::now(&machine)).unwrap_err();
    assert_eq!(refused.code(), "ERR_BOX_STATE");
    tokio_runtime().block_on(stop(&machine));
    let record = machine.record.dir();
    assert!(!std::fs::read_to_string(record.join("qmp.jsonl")).unwrap().contains("query-stats"));
    let lines = lines(record, "counters.jsonl");
    lines.iter().for_each(|line| validate("counters", line));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["kind"], "kvm-none");
    assert!(lines[0]["why"].as_str().unwrap().starts_with("the accelerator is tcg"), "{lines:?}");
}

#[test]
fn under_kvm_each_mark_has_a_sample_and_the_statistics_are_described_once() {
    if let Err(error) = std::fs::File::options().read(true).write(true).open("/dev/kvm") {
        eprintln!("skipped: /dev/kvm cannot be opened here: {error}");
        return;
    }
    let folder = Folder::new("kvm-counters");
    let machine = machine(&folder);
    let engine = json!({ "binary": "qemu-system-x86_64", "accel": "kvm", "asked": "kvm", "reason": "a test" });
    let changes = json!({ "counters": true, "engine": engine, "cpuModel": "qemu64", "cpus": 2 });
    boot(&machine, plan(&boot_disk(&folder.0, "hello\r\n"), &changes)).unwrap();
    machine.board.now("first-login-begin");
    tokio_runtime().block_on(counters::now(&machine)).unwrap();
    tokio_runtime().block_on(stop(&machine));
    let lines = lines(machine.record.dir(), "counters.jsonl");
    lines.iter().for_each(|line| validate("counters", line));
    let of = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).collect::<Vec<_>>();
    assert_eq!((of("kvm-schema").len(), of("kvm-none").len()), (1, 0), "{lines:?}");
    let samples = of("kvm");
    let sampled: Vec<&str> = samples
        .iter()
        .flat_map(|line| match line["marks"].as_array() {
            Some(marks) => marks.iter().filter_map(Value::as_str).collect(),
            None => line["mark"].as_str().into_iter().collect::<Vec<_>>(),
        })
        .collect();
    let expected = ["user:hello", "ready", "first-login-begin", "stop-begin"];
    assert!(expected.iter().all(|mark| sampled.iter().filter(|one| *one == mark).count() == 1), "{sampled:?}");
    assert!(samples.iter().any(|line| line.get("mark").is_none()), "one was of now: {samples:?}");
    assert!(samples.iter().all(|line| line["vcpus"].as_array().unwrap().len() == 2), "{samples:?}");
    let exits: Vec<u64> = samples.iter().map(|line| line["vcpus"][0]["values"]["exits"].as_u64().unwrap()).collect();
    assert!(exits.is_sorted() && exits[0] > 0, "{exits:?}");
}

#[test]
fn a_wait_that_is_too_long_ends_with_the_last_mark_and_leaves_no_process() {
    let folder = Folder::new("timeout");
    let disk = boot_disk(&folder.0, "hallo\r\n");
    let machine = machine(&folder);
    let limits = json!({ "limits": { "bootMs": 1500, "stopMs": 1000 } });
    let began = Instant::now();
    let failure = boot(&machine, plan(&disk, &limits)).unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(4));
    assert_eq!((failure.code, failure.last_mark.as_deref()), ("ERR_BOX_TIMEOUT", Some("vm-start")));
    assert!(failure.message.starts_with("`user:hello` did not come within 1500 ms; the last mark was `vm-start`, "));
    assert!(failure.console_tail.contains("hallo"), "{failure:?}");
    assert_eq!(failure.exit.unwrap().signal, Some(9));
    assert_eq!(machine.state(), State::Failed);
    let file: Value = serde_json::from_slice(&std::fs::read(machine.record.dir().join("boot.json")).unwrap()).unwrap();
    validate("boot", &file);
    assert_eq!((&file["outcome"], &file["error"]["code"]), (&json!("failed"), &json!("ERR_BOX_TIMEOUT")));
}

#[test]
fn an_engine_that_exits_at_once_is_told_in_its_own_words() {
    let folder = Folder::new("words");
    let disk = boot_disk(&folder.0, "hello\r\n");
    let machine = machine(&folder);
    let devices = json!({ "rng": true, "net": "none", "balloon": false, "hotplugPorts": 0, "ioeventfd": true,
                          "extra": ["-device", "no-such-thing"] });
    let failure = boot(&machine, plan(&disk, &json!({ "devices": devices }))).unwrap_err();
    assert_eq!(failure.code, "ERR_BOX_ENGINE_EXITED");
    assert!(
        failure.message.contains("exit code 1") && failure.message.contains("no-such-thing"),
        "{}",
        failure.message
    );
    assert_eq!(failure.exit.unwrap().code, Some(1));
}

#[test]
fn an_engine_that_is_not_there_is_named_with_the_remedy() {
    let folder = Folder::new("missing");
    let disk = boot_disk(&folder.0, "hello\r\n");
    let machine = machine(&folder);
    let engine = json!({ "engine": { "binary": "/nowhere/qemu", "accel": "tcg", "asked": "tcg", "reason": "a test" } });
    let failure = boot(&machine, plan(&disk, &engine)).unwrap_err();
    assert_eq!(failure.code, "ERR_BOX_SPAWN");
    assert_eq!(
        failure.message,
        "the engine `/nowhere/qemu` could not be started: there is no such program; install it or give its path in `engine`"
    );
}

#[test]
fn a_kill_at_any_moment_of_a_boot_ends_it_at_once_and_leaves_no_process() {
    for delay_ms in [0, 1, 5, 20, 50, 100, 200] {
        let folder = Folder::new("kill");
        let disk = boot_disk(&folder.0, "nothing\r\n");
        let machine = machine(&folder);
        let killer = Arc::clone(&machine);
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(delay_ms));
            killer.kill();
        });
        let began = Instant::now();
        let failure = boot(&machine, plan(&disk, &json!({}))).unwrap_err();
        thread.join().unwrap();
        assert_eq!(failure.code, "ERR_BOX_KILLED", "{delay_ms} ms: {failure:?}");
        assert!(began.elapsed() < Duration::from_secs(2), "{delay_ms} ms: {:?}", began.elapsed());
        assert_eq!(machine.usage(), None);
        assert!(machine.pid().is_none_or(|pid| !alive(pid)), "{delay_ms} ms");
    }
}

#[test]
fn a_box_whose_engine_is_killed_by_others_fails_and_says_how() {
    let folder = Folder::new("murder");
    let disk = boot_disk(&folder.0, "hello\r\n");
    let machine = machine(&folder);
    boot(&machine, plan(&disk, &json!({}))).unwrap();
    let pid = i32::try_from(machine.pid().unwrap()).unwrap();
    let waiting = Arc::clone(&machine);
    let waiter = tokio_runtime().spawn(async move { waiting.wait_mark("user:never", 30_000).await });
    std::thread::sleep(Duration::from_millis(100));
    let began = Instant::now();
    // SAFETY: the process is the engine that this test started.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    let fault = tokio_runtime().block_on(waiter).unwrap().unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(fault.to_string(), "the engine ended (signal 9) while waiting for `user:never`");
    assert_eq!(machine.state(), State::Failed);
    assert_eq!(tokio_runtime().block_on(stop(&machine)).by, Step::None);
}

#[test]
fn a_record_is_never_written_over() {
    let folder = Folder::new("twice");
    let first = machine(&folder);
    let error = Machine::create(order("other", first.record.dir())).unwrap_err();
    assert_eq!(error.code(), "ERR_BOX_RECORD");
    assert!(error.to_string().contains("File exists"), "{error}");
}

#[test]
fn a_record_that_reaches_its_bound_is_cut_there_and_says_so() {
    let folder = Folder::new("bound");
    let disk = boot_disk(&folder.0, &format!("{}hello\r\n", "a long line of a talkative guest\r\n".repeat(8)));
    let record = folder.0.join("record");
    let machine = Machine::create(BoxOrder { limit_bytes: 4096, ..order("b1", &record) }).unwrap();
    let talkative = Machine::create(BoxOrder { limit_bytes: 64, ..order("b2", &folder.0.join("other")) }).unwrap();
    boot(&machine, plan(&disk, &json!({}))).unwrap();
    boot(&talkative, plan(&disk, &json!({}))).unwrap();
    assert!(talkative.console_tail().contains("hello"), "an error would still show the end of the console");
    tokio_runtime().block_on(async {
        stop(&machine).await;
        assert_eq!(stop(&talkative).await.record_problem, None);
    });
    let cut = boot_file(&folder.0.join("other"))["truncated"].clone();
    assert!(cut.as_array().unwrap().contains(&json!("console.bin")), "{cut}");
    assert_eq!(std::fs::metadata(folder.0.join("other/console.bin")).unwrap().len(), 64);
    let whole = boot_file(&record);
    assert!(!whole["truncated"].as_array().is_some_and(|cut| cut.contains(&json!("console.bin"))), "{whole}");
    validate("boot", &boot_file(&folder.0.join("other")));
}

fn boot_file(record: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(record.join("boot.json")).unwrap()).unwrap()
}

/// A plan with a folder that this line of a shell serves.
fn plan_served_by(folder: &Folder, line: &str, boot_ms: u64) -> BootPlan {
    let daemon = json!({ "binary": "/bin/sh", "args": ["-c", line], "readonlyMounts": false });
    let shares = json!([{ "id": "shared", "path": folder.0, "daemon": daemon }]);
    let limits = json!({ "bootMs": boot_ms, "stopMs": 1000 });
    plan(&boot_disk(&folder.0, "hello\r\n"), &json!({ "shares": shares, "limits": limits }))
}

#[test]
fn a_folder_whose_server_fails_fails_the_boot_at_once_with_its_words() {
    let folder = Folder::new("share-fails");
    let machine = machine(&folder);
    let begun = Instant::now();
    let failure = boot(&machine, plan_served_by(&folder, "echo no luck today >&2; exit 3", 20_000)).unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(failure.code, "ERR_BOX_SHARE");
    let said = format!("virtiofsd, which serves the folder {} to the guest, ended (exit code 3)", folder.0.display());
    assert!(failure.message.starts_with(&said), "{}", failure.message);
    assert!(failure.message.ends_with("; it said: no luck today"), "{}", failure.message);
}

#[test]
fn a_folder_whose_server_hangs_leaves_no_process_behind_the_boot() {
    let folder = Folder::new("share-hangs");
    let machine = machine(&folder);
    let pids = folder.0.join("pids");
    let line = format!("sleep 1000 & echo $$ $! > {}; wait", pids.display());
    let failure = boot(&machine, plan_served_by(&folder, &line, 1000)).unwrap_err();
    assert_eq!(failure.code, "ERR_BOX_TIMEOUT", "{}", failure.message);
    let pids = std::fs::read_to_string(&pids).unwrap();
    let left: Vec<u32> = pids.split_whitespace().map(|pid| pid.parse().unwrap()).filter(|pid| alive(*pid)).collect();
    assert!(left.is_empty(), "{left:?}");
    let aside = machine.record.dir().with_extension("aside");
    assert!(!aside.exists(), "what the box put aside is gone");
}

#[test]
fn a_folder_whose_server_is_not_there_is_no_fault_of_the_engine() {
    let folder = Folder::new("share-missing");
    let machine = machine(&folder);
    let mut plan = plan_served_by(&folder, "", 1000);
    plan.shares[0].daemon.binary = "/nowhere/virtiofsd".into();
    let failure = boot(&machine, plan).unwrap_err();
    assert_eq!(failure.code, "ERR_BOX_SHARE");
    let said = "`/nowhere/virtiofsd` could not be started to serve the folder";
    assert!(failure.message.starts_with(said), "{}", failure.message);
}
