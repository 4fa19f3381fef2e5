//! Process 1 becomes the image's init, and the agent goes on beside it.

use std::convert::Infallible;
use std::env;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;

use boxlab_protocol::Module;
use boxlab_protocol::stage0::SWITCH_ROOT_MARKER;
use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};

use super::StageFault;
use crate::{clock, console, init};

/// systemd kills what is left at its end, but no process whose name begins so (systemd.kill(5), ROOT STORAGE DAEMONS).
const NAME: &str = "@boxlab-agent";

/// What the resident agent knows from stage 0.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Resident {
    /// CLOCK_MONOTONIC at the start of stage 0, in nanoseconds.
    pub up_ns: u64,
    /// The same when the image's init was about to start.
    pub switch_root_ns: u64,
    /// What was loaded.
    pub modules: Vec<Module>,
    /// What went wrong.
    pub troubles: Vec<String>,
    /// It records the jobs of systemd.
    pub record_jobs: bool,
}

/// Whether the image's init is something that this kernel can start.
pub fn check(init: &str) -> Result<(), StageFault> {
    let fault = |reason: String| StageFault::Init { path: init.to_owned(), reason };
    let mut file = File::open(init).map_err(|error| fault(error.to_string()))?;
    let facts = file.metadata().map_err(|error| fault(error.to_string()))?;
    if !facts.is_file() || facts.permissions().mode() & 0o111 == 0 {
        return Err(fault("it is not an executable file".to_owned()));
    }
    let mut start = [0; 20];
    // A shorter file is a script or nothing; the kernel will say.
    if file.read_exact(&mut start).is_err() || start[..4] != *b"\x7fELF" {
        return Ok(());
    }
    // elf(5): e_machine.
    match u16::from_le_bytes([start[18], start[19]]) {
        3 | 62 => Ok(()),
        183 => Err(fault("it is a program for aarch64, and this guest is x86_64".to_owned())),
        other => Err(fault(format!("it is a program for another processor (ELF machine {other})"))),
    }
}

/// Starts the resident agent and executes the image's init. Returns only where that fails.
pub fn hand_over(init: &str, resident: Resident) -> io::Result<Infallible> {
    let resident = Resident { switch_root_ns: clock::monotonic_ns(), ..resident };
    start_resident(&resident)?;
    // What the kernel had for its init goes to the image's: it does not notice who was there before.
    let argv = std::iter::once(OsString::from(init)).chain(env::args_os().skip(1)).map(text);
    let argv: Vec<CString> = argv.collect::<io::Result<_>>()?;
    let environment = env::vars_os().map(|(name, value)| {
        let mut both = name.into_vec();
        both.push(b'=');
        both.extend_from_slice(value.as_bytes());
        text(OsString::from_vec(both))
    });
    let environment: Vec<CString> = environment.collect::<io::Result<_>>()?;
    console::say(&format!("{SWITCH_ROOT_MARKER}{}", resident.switch_root_ns));
    init::forget_signals();
    Err(execute(&argv[0], &argv, &environment))
}

fn start_resident(resident: &Resident) -> io::Result<()> {
    let mut file = File::from(memfd_create(c"boxlab-resident", MemfdFlags::CLOEXEC)?);
    serde_json::to_writer(&mut file, resident)?;
    file.flush()?;
    // SAFETY: stage 0 has one thread, so the child is a whole copy of it.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let fd = file.as_raw_fd();
            // SAFETY: clears CLOEXEC of a descriptor that is open, and makes the child a session of its own.
            unsafe {
                libc::fcntl(fd, libc::F_SETFD, 0);
                libc::setsid();
            }
            let argv = [NAME.to_owned(), "@resident".to_owned(), fd.to_string()].map(CString::new);
            let argv: Vec<CString> = argv.into_iter().flatten().collect();
            // The file of the agent went with the initramfs; the kernel still has it open.
            let error = execute(c"/proc/self/exe", &argv, &[]);
            console::say(&format!("boxlab: agent failed: cannot stay beside the image's init: {error}"));
            // SAFETY: ends the child without running anything of the parent's.
            unsafe { libc::_exit(1) }
        }
        _ => Ok(()),
    }
}

/// Reads what stage 0 left for the resident agent.
pub fn taken_over(number: RawFd) -> io::Result<Resident> {
    // SAFETY: stage 0 gave this descriptor to us, and nothing else here knows of it.
    let mut file = File::from(unsafe { OwnedFd::from_raw_fd(number) });
    let mut json = Vec::new();
    io::Seek::rewind(&mut file)?;
    file.read_to_end(&mut json)?;
    Ok(serde_json::from_slice(&json)?)
}

fn execute(program: &std::ffi::CStr, argv: &[CString], environment: &[CString]) -> io::Error {
    let pointers = |list: &[CString]| -> Vec<*const libc::c_char> {
        list.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (argv, environment) = (pointers(argv), pointers(environment));
    // SAFETY: both lists end with a null pointer, and the strings outlive the call.
    unsafe { libc::execve(program.as_ptr(), argv.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}

fn text(word: OsString) -> io::Result<CString> {
    CString::new(word.into_vec()).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_init_must_be_a_program_of_this_processor() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("init");
        let checked = |bytes: &[u8], mode: u32| {
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            check(path.to_str().unwrap()).map_err(|fault| fault.to_string().split(": ").last().unwrap().to_owned())
        };
        let elf = |machine: u8| [&b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0"[..], &[machine, 0]].concat();
        assert_eq!(checked(&elf(62), 0o755), Ok(()));
        assert_eq!(checked(b"#!/bin/sh\n", 0o755), Ok(()));
        assert_eq!(checked(&elf(62), 0o644), Err("it is not an executable file".to_owned()));
        assert!(checked(&elf(183), 0o755).unwrap_err().contains("aarch64"));
        assert!(checked(&elf(243), 0o755).unwrap_err().contains("243"));
        assert!(check("/nowhere/init").unwrap_err().to_string().contains("/nowhere/init"));
        assert!(check("/").unwrap_err().to_string().contains("not an executable file"));
    }
}
