//! Takes the console's bytes in a thread of its own, stamps each read, keeps them, and sets marks.

use std::collections::VecDeque;
use std::io::{PipeReader, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use boxlab_protocol::AGENT_UP_MARKER;
use boxlab_protocol::stage0::SWITCH_ROOT_MARKER;
use serde_json::json;
use tokio::sync::watch;

use crate::board::{Board, Mark, Source};
use crate::clock::now_ns;
use crate::drain::{Drained, drain};
use crate::fault::Fault;
use crate::matcher::{Hit, Matcher, Pattern};
use crate::plan::ConsoleMark;
use crate::record::Record;

/// The pause after a read. An emulated serial port hands over byte by byte, and waking a reader for each byte slows
/// the guest down (some 24,000 wake-ups in a boot); bytes that come in the pause are read together after it, and the
/// pause is the error bar of every console mark.
const COALESCE: Duration = Duration::from_micros(250);

/// What the timer may add to [`COALESCE`]: the kernel's default slack of 50 µs and a scheduling turn.
const STAMP_ERROR_NS: u64 = COALESCE.as_nanos() as u64 + 250_000;

/// How much of the console's end is kept in memory for error messages.
const TAIL_BYTES: usize = 64 * 1024;

/// The console of one box.
#[derive(Debug)]
pub struct Console {
    tail: Arc<Mutex<VecDeque<u8>>>,
    /// Bytes that are in the record.
    length: watch::Receiver<u64>,
    drained: Drained,
}

/// How a panic begins on the console.
pub const PANIC_TEXT: &str = "Kernel panic - not syncing";

/// The texts that set marks in every box.
fn vocabulary() -> Vec<Pattern> {
    vec![
        // init/main.c, start_kernel(): pr_notice("%s", linux_banner).
        Pattern::text("kernel-first-line", "Linux version "),
        // init/main.c, run_init_process(): pr_info("Run %s as init process\n").
        Pattern::line("init-run", "Run ", " as init process"),
        Pattern::text("agent-up", AGENT_UP_MARKER),
        Pattern::text("switch-root", SWITCH_ROOT_MARKER),
        // kernel/panic.c, vpanic(): pr_emerg("Kernel panic - not syncing: %s\n").
        Pattern::text("guest-panic", PANIC_TEXT),
        // agetty(8): the host name and this text.
        Pattern::text("login-prompt", " login: "),
    ]
}

impl Console {
    /// Starts the thread; it ends when the engine closes its side.
    pub fn start(
        mut stream: PipeReader,
        record: &Arc<Record>,
        board: &Arc<Board>,
        marks: &[ConsoleMark],
    ) -> Result<Self, Fault> {
        let mut patterns = vocabulary();
        patterns.extend(marks.iter().map(|mark| Pattern::text(&mark.mark, &mark.text)));
        let mut matcher = Matcher::new(patterns);
        let mut files = record.console_files()?;
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        let (record, board, kept) = (Arc::clone(record), Arc::clone(board), Arc::clone(&tail));
        let (reading, drained) = drain();
        let (grown, length) = watch::channel(0);
        let run = move || {
            let _reading = reading;
            let mut buffer = vec![0; 64 * 1024];
            loop {
                let length = match stream.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(length) => length,
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    Err(_) => return,
                };
                let at_ns = now_ns();
                let bytes = &buffer[..length];
                record.console(&mut files, bytes, at_ns);
                keep_tail(&kept, bytes);
                for hit in matcher.feed(bytes) {
                    set_marks(&board, &hit, at_ns);
                }
                grown.send_replace(files.length());
                std::thread::sleep(COALESCE);
            }
        };
        let thread = std::thread::Builder::new().name("boxlab-console".to_owned()).spawn(run);
        thread.map_err(|error| Fault::Plan(format!("no thread for the console: {error}")))?;
        Ok(Self { tail, length, drained })
    }

    /// The last lines, with what cannot be shown replaced.
    pub fn tail(&self, lines: usize) -> String {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = tail.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes).replace('\r', "");
        let mut kept: Vec<&str> = text.trim_end().rsplit('\n').take(lines).collect();
        kept.reverse();
        kept.join("\n")
    }

    /// The last line that holds a text.
    pub fn last_line_with(&self, text: &str) -> Option<String> {
        self.tail(usize::MAX).lines().rfind(|line| line.contains(text)).map(str::to_owned)
    }

    /// How many bytes of it are in the record.
    pub fn length(&self) -> u64 {
        *self.length.borrow()
    }

    /// Resolves with how many bytes of it are in the record once that is more than `length`.
    pub async fn beyond(&self, length: u64) -> u64 {
        let mut grows = self.length.clone();
        let grown = grows.wait_for(|now| *now > length).await.map(|now| *now);
        match grown {
            Ok(now) => now,
            // The console has ended; who waits races with that.
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits until everything that the engine wrote is in the record, within a bound. Call after the engine has ended.
    pub fn drain(&self) {
        self.drained.wait();
    }
}

fn keep_tail(tail: &Mutex<VecDeque<u8>>, bytes: &[u8]) {
    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
    tail.extend(bytes);
    let surplus = tail.len().saturating_sub(TAIL_BYTES);
    tail.drain(..surplus);
}

fn set_marks(board: &Board, hit: &Hit, at_ns: u64) {
    // A boot loader may leave the cursor in the middle of a line; the kernel then begins with a carriage return.
    let line = String::from_utf8_lossy(&hit.line);
    let line = line.trim_start_matches('\r');
    let host = Mark::host(&hit.mark, Source::Console, at_ns).within(STAMP_ERROR_NS);
    board.set(host.with(json!({ "line": line })));
    if let Some(guest_ns) = guest_stamp_ns(&hit.mark, line) {
        board.set(Mark::guest(&hit.mark, Source::Console, guest_ns));
    }
}

/// The guest's own time on a line: printk's `[    1.234567] `, or the number after the agent's marker.
fn guest_stamp_ns(mark: &str, line: &str) -> Option<u64> {
    for (ours, marker) in [("agent-up", AGENT_UP_MARKER), ("switch-root", SWITCH_ROOT_MARKER)] {
        if mark == ours {
            return line.split(marker).nth(1)?.split_whitespace().next()?.parse().ok();
        }
    }
    let stamp = line.strip_prefix('[')?.split(']').next()?.trim();
    let (seconds, micros) = stamp.split_once('.')?;
    if micros.len() != 6 {
        return None;
    }
    Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + micros.parse::<u64>().ok()? * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lines_own_time_is_read_where_it_has_one() {
        assert_eq!(guest_stamp_ns("init-run", "[    1.234567] Run /init as init process"), Some(1_234_567_000));
        assert_eq!(guest_stamp_ns("init-run", "[12345.000001] Run /init as init process"), Some(12_345_000_001_000));
        assert_eq!(guest_stamp_ns("agent-up", "boxlab: agent-up 1500"), Some(1500));
        assert_eq!(guest_stamp_ns("switch-root", "boxlab: switch-root 2500"), Some(2500));
        assert_eq!(guest_stamp_ns("login-prompt", "debian login: "), None);
        assert_eq!(guest_stamp_ns("init-run", "[  OK  ] Run x.y as init process"), None);
    }
}
