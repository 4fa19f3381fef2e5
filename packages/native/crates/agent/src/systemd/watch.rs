//! Following one unit, or the manager, from signal to signal.

use boxlab_protocol::{SystemdManager, SystemdUnit};
use serde_json::{Map, Value};
use zbus::OwnedObjectPath;

use super::Changes;
use super::bus::{BusError, Systemd, Unit};
use super::wire::Signal;

/// Sends a unit's state at each change, for as long as systemd lives.
pub async fn unit(name: &str, changes: &mut Changes) -> Result<(), BusError> {
    let mut systemd = Systemd::connect().await?;
    systemd.subscribe().await?;
    let unit = systemd.unit(name).await?;
    let mut last_job = None;
    loop {
        let state = SystemdUnit { last_job: last_job.clone(), ..unit_state(&mut systemd, &unit).await? };
        changes.send(&state).await?;
        // A job that ends, and the end of the boot, are of other objects and matter too.
        let others = ["JobNew", "JobRemoved", "StartupFinished", "Reloading"];
        systemd
            .changes(|signal| {
                // systemd forgets a unit that nothing needs as soon as it is inactive, stamps and all.
                last_job = job_result(signal, &state.id).or(last_job.take());
                signal.path == unit.path || others.contains(&signal.member.as_str())
            })
            .await?;
    }
}

/// How a job of a unit ended, where the signal tells of one.
fn job_result(signal: &Signal, id: &str) -> Option<String> {
    if signal.member != "JobRemoved" {
        return None;
    }
    let (_, _, unit, result): (u32, OwnedObjectPath, String, String) = signal.arguments().ok()?;
    (unit == id).then_some(result)
}

/// Sends the manager's state when it may have changed.
pub async fn manager(changes: &mut Changes) -> Result<(), BusError> {
    let mut systemd = Systemd::connect().await?;
    systemd.subscribe().await?;
    loop {
        let all = systemd.manager().await?;
        let state = text(&all, "SystemState");
        let failed = if number(&all, "NFailedUnits") > 0 { systemd.failed().await? } else { Vec::new() };
        changes.send(&SystemdManager { state, failed, jobs: number(&all, "NJobs"), times: times(&all) }).await?;
        let ours = ["JobRemoved", "StartupFinished", "Reloading"];
        systemd.changes(|signal| ours.contains(&signal.member.as_str())).await?;
    }
}

async fn unit_state(systemd: &mut Systemd, unit: &Unit) -> Result<SystemdUnit, BusError> {
    let common = systemd.common(unit).await?;
    let special = systemd.special(unit).await?;
    let manager = systemd.manager().await?;
    // Job is (uo): 0 where there is none.
    let job = common.get("Job").and_then(|job| job.get(0)).and_then(Value::as_u64).unwrap_or(0);
    Ok(SystemdUnit {
        id: text(&common, "Id"),
        load_state: text(&common, "LoadState"),
        active_state: text(&common, "ActiveState"),
        sub_state: text(&common, "SubState"),
        kind: special.get("Type").and_then(Value::as_str).map(str::to_owned),
        result: special.get("Result").and_then(Value::as_str).map(str::to_owned),
        has_job: job != 0,
        condition_met: common.get("ConditionResult").and_then(Value::as_bool).unwrap_or(false),
        condition_us: number(&common, "ConditionTimestampMonotonic"),
        inactive_exit_us: number(&common, "InactiveExitTimestampMonotonic"),
        active_enter_us: number(&common, "ActiveEnterTimestampMonotonic"),
        inactive_enter_us: number(&common, "InactiveEnterTimestampMonotonic"),
        last_job: None,
        booted: number(&manager, "FinishTimestampMonotonic") > 0,
    })
}

fn text(properties: &Map<String, Value>, name: &str) -> String {
    properties.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn number(properties: &Map<String, Value>, name: &str) -> u64 {
    properties.get(name).and_then(Value::as_u64).unwrap_or(0)
}

/// The manager's own stamps that are set, by their names without the common end, in µs of CLOCK_MONOTONIC.
fn times(properties: &Map<String, Value>) -> std::collections::BTreeMap<String, u64> {
    let stamp = |(name, value): (&String, &Value)| {
        let name = name.strip_suffix("TimestampMonotonic")?;
        // All ones is systemd's USEC_INFINITY: never.
        value.as_u64().filter(|at_us| *at_us > 0 && *at_us < u64::MAX).map(|at_us| (name.to_owned(), at_us))
    };
    properties.iter().filter_map(stamp).collect()
}
