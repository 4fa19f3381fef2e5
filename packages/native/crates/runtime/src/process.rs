//! The process of an engine, held by a pidfd so that a reused pid can never be meant.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use serde::Serialize;

use crate::clock::now_ns;
use crate::fault::Exit;

/// A child process.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    pidfd: OwnedFd,
    started_ns: u64,
}

/// What a process has used, from /proc.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Processor time of all its threads, in milliseconds (the kernel counts in ticks of 10).
    pub cpu_ms: u64,
    /// The part of it that KVM ran guest code in (`guest_time`), in milliseconds; 0 under TCG.
    pub guest_ms: u64,
    /// Resident memory in bytes.
    pub memory_bytes: u64,
    /// Processor time over wall time since its start, in percent of one CPU.
    pub cpu_percent: f64,
}

impl Process {
    /// Takes hold of a child that was not waited for yet.
    pub fn of_child(pid: u32) -> io::Result<Self> {
        let id = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
        // SAFETY: pidfd_open takes a pid and flags, and gives a new descriptor or an error.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, id, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = RawFd::try_from(fd).map_err(io::Error::other)?;
        // SAFETY: the descriptor is new and nobody else's.
        let pidfd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { pid, pidfd, started_ns: now_ns() })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Kills it at once. A process that has ended already is no error.
    pub fn kill(&self) {
        // SAFETY: the pidfd is open; no siginfo is passed.
        unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.pidfd.as_raw_fd(),
                libc::SIGKILL,
                std::ptr::null::<libc::siginfo_t>(),
                0,
            );
        }
    }

    /// Kills it and all processes of its group, which it leads. Not after it was reaped: the number of the group may be
    /// another's then.
    pub fn kill_group(&self) {
        if let Ok(id) = libc::pid_t::try_from(self.pid) {
            // SAFETY: kill takes numbers; the group is this child's, which was not reaped yet.
            unsafe { libc::kill(-id, libc::SIGKILL) };
        }
    }

    /// Blocks until it has ended or the bound is reached; true when it has ended. Does not reap.
    pub fn wait_end(&self, bound: Duration) -> bool {
        let millis = i32::try_from(bound.as_millis()).unwrap_or(i32::MAX);
        let mut poll = libc::pollfd { fd: self.pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid pollfd.
        unsafe { libc::poll(&raw mut poll, 1, millis) > 0 }
    }

    /// Blocks until it has ended, reaps it, and tells how it ended.
    pub fn reap(&self) -> Exit {
        // SAFETY: zeroed siginfo_t is a valid value to write to.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let id = self.pidfd.as_raw_fd().unsigned_abs();
        loop {
            // SAFETY: waits for the child behind the pidfd and writes into `info`.
            let result = unsafe { libc::waitid(libc::P_PIDFD, id, &raw mut info, libc::WEXITED) };
            if result == 0 {
                break;
            }
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return Exit { code: None, signal: None };
            }
        }
        // SAFETY: after a successful waitid the status field is set.
        let status = unsafe { info.si_status() };
        match info.si_code {
            libc::CLD_EXITED => Exit { code: Some(status), signal: None },
            _ => Exit { code: None, signal: Some(status) },
        }
    }

    /// What it has used up to now; `None` when it has ended.
    pub fn usage(&self) -> Option<Usage> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).ok()?;
        // The second field is the command's name in brackets and may hold anything; the fields after it do not.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        // proc(5): state is field 3, utime 14, stime 15, rss 24 (pages), guest_time 43.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        if fields.first() == Some(&"Z") {
            return None;
        }
        let cpu_ms = ticks_to_ms(field(14)? + field(15)?);
        let wall_ms = now_ns().saturating_sub(self.started_ns) as f64 / 1e6;
        Some(Usage {
            cpu_ms,
            guest_ms: ticks_to_ms(field(43).unwrap_or(0)),
            memory_bytes: field(24)? * 4096,
            cpu_percent: if wall_ms > 0.0 { cpu_ms as f64 / wall_ms * 100.0 } else { 0.0 },
        })
    }
}

/// Blocks until one of them has ended. Does not reap.
pub fn wait_any(processes: &[&Process]) {
    let poll_of = |process: &&Process| libc::pollfd { fd: process.pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut polls: Vec<libc::pollfd> = processes.iter().map(poll_of).collect();
    // SAFETY: `polls` is a valid array of its own length; a signal that interrupts the call only makes it begin again.
    while unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, -1) } < 0 {}
}

fn ticks_to_ms(ticks: u64) -> u64 {
    // USER_HZ is 100 on every Linux of x86-64.
    ticks * 10
}

/// The time at which a process started, in clock ticks since the host's boot (proc(5), field 22): together with its
/// pid it names a process for good.
pub fn start_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(22 - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[expect(clippy::zombie_processes, reason = "the tests reap through the pidfd, which clippy does not see")]
    fn started(program: &str, arguments: &[&str]) -> Process {
        let child = Command::new(program).args(arguments).spawn().unwrap();
        Process::of_child(child.id()).unwrap()
    }

    #[test]
    fn exit_codes_and_signals_are_told_apart() {
        assert_eq!(started("sh", &["-c", "exit 7"]).reap(), Exit { code: Some(7), signal: None });
        let process = started("sleep", &["60"]);
        assert!(!process.wait_end(Duration::from_millis(1)));
        process.kill();
        assert!(process.wait_end(Duration::from_secs(5)));
        assert_eq!(process.reap(), Exit { code: None, signal: Some(9) });
        assert_eq!(process.usage(), None);
    }

    #[test]
    fn usage_is_of_the_process_itself() {
        let process = started("sh", &["-c", "while :; do :; done"]);
        std::thread::sleep(Duration::from_millis(300));
        let usage = process.usage().unwrap();
        process.kill();
        process.reap();
        assert!(usage.cpu_ms >= 50 && usage.cpu_percent > 10.0, "{usage:?}");
        assert!((100_000..100_000_000).contains(&usage.memory_bytes), "{usage:?}");
    }
}
