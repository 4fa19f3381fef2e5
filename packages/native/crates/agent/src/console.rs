//! The guest's console: whole lines, each in one write, so that the kernel's lines do not cut ours.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::panic;

use rustix::fs::{fstat, major, minor};
use rustix::stdio;

/// Prints one line. There is nobody to tell when that fails.
pub fn say(line: &str) {
    let line = format!("{line}\n");
    let _ = rustix::io::write(stdio::stderr(), line.as_bytes());
}

/// Opens /dev/console as stdin, stdout and stderr where the kernel could not, because the initramfs has no such
/// node. Gives whether it did: what was said before went nowhere.
pub fn attach() -> rustix::io::Result<bool> {
    let device = fstat(stdio::stderr())?.st_rdev;
    // Rust's start opens /dev/null (1:3) in the place of a missing stderr.
    if (major(device), minor(device)) != (1, 3) {
        return Ok(false);
    }
    let console = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOCTTY)
        .open("/dev/console")
        .map_err(|error| rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO))?;
    stdio::dup2_stdin(&console)?;
    stdio::dup2_stdout(&console)?;
    stdio::dup2_stderr(&console)?;
    Ok(true)
}

/// Makes every panic one line of the console. When it ends PID 1, the kernel's own panic follows it.
pub fn announce_panics() {
    panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let what = payload.downcast_ref::<&str>().copied();
        let what = what.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic");
        match info.location() {
            Some(place) => say(&format!("boxlab: agent failed: {what} ({}:{})", place.file(), place.line())),
            None => say(&format!("boxlab: agent failed: {what}")),
        }
    }));
}
