//! What systemd knows of a boot, as texts that people and probes read: the blocks of `systemctl show --all` and the table of
//! `systemctl list-jobs`. Nothing of the image's runs for them.

use std::fmt::Write;

use serde_json::{Map, Value};
use zbus::{OwnedObjectPath, OwnedVariant};

use super::bus::{BusError, MANAGER, MANAGER_PATH, PROPERTIES, Systemd, UNIT};
use super::json::{Properties, to_json};

/// Properties that every unit has and a boot's analysis needs.
const OF_UNITS: [&str; 28] = [
    "Names",
    "LoadState",
    "ActiveState",
    "SubState",
    "FragmentPath",
    "Following",
    "Job",
    "After",
    "Wants",
    "Requires",
    "Requisite",
    "BindsTo",
    "WantedBy",
    "RequiredBy",
    "BoundBy",
    "TriggeredBy",
    "ConditionResult",
    "ConditionTimestampMonotonic",
    "AssertResult",
    "AssertTimestampMonotonic",
    "StateChangeTimestampMonotonic",
    "InactiveExitTimestampMonotonic",
    "ActiveEnterTimestampMonotonic",
    "ActiveExitTimestampMonotonic",
    "InactiveEnterTimestampMonotonic",
    "JobTimeoutUSec",
    "JobRunningTimeoutUSec",
    "NeedDaemonReload",
];

/// Those that only services have. One by one: all of them together are ten times as many, and some take PID 1 a while.
const OF_SERVICES: [&str; 8] = [
    "Type",
    "Result",
    "NRestarts",
    "RemainAfterExit",
    "TimeoutStartUSec",
    "ExecMainStartTimestampMonotonic",
    "ExecMainExitTimestampMonotonic",
    // systemd 256 and later.
    "ExecMainHandoffTimestampMonotonic",
];
const SERVICE: &str = "org.freedesktop.systemd1.Service";

/// Those of the manager beside its stamps.
const OF_MANAGER: [&str; 6] = ["Version", "ControlGroup", "SystemState", "NJobs", "NFailedUnits", "SoftRebootsCount"];

/// Units that are asked for at one go, so that PID 1 is not waited for once a unit.
const AT_ONCE: usize = 16;

/// The manager and the units, each a block.
pub async fn units(queued: bool) -> Result<String, BusError> {
    let mut systemd = Systemd::connect().await?;
    let manager = systemd.manager().await?;
    let mut text = String::new();
    for (name, value) in &manager {
        if name.ends_with("TimestampMonotonic") || OF_MANAGER.contains(&name.as_str()) {
            line(&mut text, name, value);
        }
    }
    // a(ssssssouso): id, …, path, job's id, …
    type Row = (String, String, String, String, String, String, OwnedObjectPath, u32, String, OwnedObjectPath);
    let mut rows: Vec<Row> = systemd.peer.call(MANAGER_PATH, MANAGER, "ListUnits", &()).await?;
    rows.retain(|row| !queued || row.7 != 0);
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    for rows in rows.chunks(AT_ONCE) {
        let mut asked = Vec::new();
        for row in rows {
            let serial = systemd.peer.send(row.6.as_str(), PROPERTIES, "GetAll", &(UNIT,)).await?;
            let mut more = Vec::new();
            if row.0.ends_with(".service") {
                for name in OF_SERVICES {
                    let serial = systemd.peer.send(row.6.as_str(), PROPERTIES, "Get", &(SERVICE, name)).await?;
                    more.push((name, serial));
                }
            }
            asked.push((&row.0, serial, more));
        }
        for (id, serial, more) in asked {
            let common: Result<Properties, _> = systemd.peer.answer(serial).await;
            let mut special = Map::new();
            for (name, serial) in more {
                match systemd.peer.answer::<OwnedVariant>(serial).await {
                    Ok(value) => drop(special.insert(name.to_owned(), to_json(&value))),
                    // One that this version of systemd does not have, or of a unit that went meanwhile.
                    Err(BusError::Refused(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            match common {
                Ok(common) => block(&mut text, id, &common, &special),
                Err(BusError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(text)
}

fn block(text: &mut String, id: &str, common: &Properties, special: &Map<String, Value>) {
    text.push('\n');
    line(text, "Id", &id.into());
    for name in OF_UNITS {
        if let Some(value) = common.get(name) {
            line(text, name, &to_json(value));
        }
    }
    for (name, value) in special {
        line(text, name, value);
    }
}

/// One property as systemctl prints it, but for spans of time, which stay whole microseconds.
fn line(text: &mut String, name: &str, value: &Value) {
    let printed = match value {
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        // (uo): the id, or 0 for none.
        Value::Array(job) if name == "Job" => {
            job.first().filter(|id| **id != 0).map(ToString::to_string).unwrap_or_default()
        }
        Value::Array(list) => list.iter().map(word).collect::<Vec<_>>().join(" "),
        Value::Number(number) if name.ends_with("USec") => match number.as_u64() {
            Some(u64::MAX) => "infinity".to_owned(),
            _ => format!("{number}us"),
        },
        other => word(other),
    };
    // Writing to a String does not fail.
    let _ = writeln!(text, "{name}={printed}");
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The queue, by id.
pub async fn jobs() -> Result<String, BusError> {
    let mut systemd = Systemd::connect().await?;
    type Row = (u32, String, String, String, OwnedObjectPath, OwnedObjectPath);
    let mut rows: Vec<Row> = systemd.peer.call(MANAGER_PATH, MANAGER, "ListJobs", &()).await?;
    rows.sort_by_key(|row| row.0);
    if rows.is_empty() {
        return Ok("No jobs running.\n".to_owned());
    }
    let mut text = "JOB UNIT TYPE STATE\n".to_owned();
    for (id, unit, kind, state, ..) in &rows {
        let _ = writeln!(text, "{id} {unit} {kind} {state}");
    }
    let _ = writeln!(text, "\n{} jobs listed.", rows.len());
    Ok(text)
}
