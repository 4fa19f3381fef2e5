//! Makes a process of a program, in the way of posix_spawn(3): the child borrows our memory until it is the program.
//!
//! A fork would copy the page tables and make every page of ours fault at its next write, which under emulation costs
//! more than all the rest of a short command. This also tells which step failed, where posix_spawn gives one errno
//! for all.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicI32, Ordering};
use std::{fmt, mem, ptr};

use libc::{c_char, c_int, c_void};
use rustix::io::Errno;
use rustix::process::{Gid, Pid, Uid, WaitOptions, chdir, ioctl_tiocsctty, setsid, waitpid};
use rustix::stdio;
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};

/// Everything about a process, decided.
#[derive(Debug)]
pub struct Plan {
    /// The files to try, in order; the first that is there is the program.
    pub programs: Vec<CString>,
    /// Its arguments, its own name first.
    pub argv: Vec<CString>,
    /// Its environment, `NAME=value` each.
    pub env: Vec<CString>,
    /// Its working directory, which is entered before the user changes.
    pub cwd: CString,
    /// Its stdin, stdout and stderr.
    pub stdio: [OwnedFd; 3],
    /// Its stdin is a terminal that becomes its controlling terminal.
    pub terminal: bool,
    /// Who it runs as; as the agent when absent.
    pub user: Option<(Uid, Gid, Vec<Gid>)>,
}

/// What can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Making the process.
    Process,
    /// Its session, streams and terminal.
    Streams,
    /// Its working directory.
    Folder,
    /// Its user and groups.
    User,
    /// The program itself.
    Program,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process => "making the process",
            Self::Streams => "setting up its session and streams",
            Self::Folder => "entering its working directory",
            Self::User => "changing to its user",
            Self::Program => "executing the file",
        })
    }
}

/// What failed.
#[derive(Debug)]
pub struct Failure {
    /// The step.
    pub step: Step,
    /// What the kernel said.
    pub errno: Errno,
}

/// What the child needs, ready made: it must not allocate.
struct Child<'a> {
    plan: &'a Plan,
    programs: Vec<*const c_char>,
    argv: Vec<*const c_char>,
    env: Vec<*const c_char>,
    failed: [AtomicI32; 2],
}

/// Enough for the few system calls of the child.
const STACK_BYTES: usize = 16 * 1024;

/// Starts the process: a session and process group of its own, default signals, no descriptor but its three. Its
/// caller reaps it.
pub fn launch(plan: &Plan) -> Result<Pid, Failure> {
    let pointers = |strings: &[CString]| {
        strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect::<Vec<*const c_char>>()
    };
    let child = Child {
        plan,
        programs: pointers(&plan.programs),
        argv: pointers(&plan.argv),
        env: pointers(&plan.env),
        failed: [AtomicI32::new(-1), AtomicI32::new(0)],
    };
    let mut stack = vec![0u128; STACK_BYTES / 16];
    let begun = with_signals_blocked(|| {
        // SAFETY: the stack grows down from its end, which is aligned, and outlives the child's use of it, as `child`
        // does: with CLONE_VFORK this returns when the child has become the program or has ended. Until then it is
        // the only one of the two that runs, so that sharing the memory is no race; it makes system calls only.
        // Signals are blocked, so that no handler of ours runs in it.
        unsafe {
            let top = stack.as_mut_ptr().add(stack.len()).cast::<c_void>();
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            libc::clone(become_program, top, flags, (&raw const child).cast_mut().cast())
        }
    });
    let Some(pid) = Pid::from_raw(begun).filter(|_| begun > 0) else {
        let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EAGAIN);
        return Err(Failure { step: Step::Process, errno: Errno::from_raw_os_error(errno) });
    };
    let [step, errno] = child.failed.map(AtomicI32::into_inner);
    let Some(step) = STEPS.get(usize::try_from(step).unwrap_or(usize::MAX)) else { return Ok(pid) };
    // It has ended; nobody else knows of it.
    let _ = waitpid(Some(pid), WaitOptions::empty());
    Err(Failure { step: *step, errno: Errno::from_raw_os_error(errno) })
}

const STEPS: [Step; 5] = [Step::Process, Step::Streams, Step::Folder, Step::User, Step::Program];

fn with_signals_blocked<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: signal sets are plain data, which the calls fill in and read; changing the mask of this thread and
    // giving it back affects nobody else.
    unsafe {
        let (mut all, mut before) = (mem::zeroed(), mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let result = work();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        result
    }
}

extern "C" fn become_program(child: *mut c_void) -> c_int {
    // SAFETY: `launch` passes a Child that lives until we are gone, and does not touch it meanwhile.
    let child = unsafe { &*child.cast::<Child<'_>>() };
    let (step, errno) = child.run();
    child.failed[0].store(step as c_int, Ordering::Relaxed);
    child.failed[1].store(errno.raw_os_error(), Ordering::Relaxed);
    // SAFETY: ends this process and nothing else; exit handlers belong to the agent.
    unsafe { libc::_exit(127) }
}

impl Child<'_> {
    /// Comes back with what failed, or not at all.
    fn run(&self) -> (Step, Errno) {
        let plan = self.plan;
        if let Err(errno) = enter_session(&plan.stdio, plan.terminal) {
            return (Step::Streams, errno);
        }
        if let Err(errno) = chdir(plan.cwd.as_c_str()) {
            return (Step::Folder, errno);
        }
        if let Some((uid, gid, groups)) = &plan.user {
            // The groups first: without the user's rights they could not be set.
            let become_user = || {
                set_thread_groups(groups)?;
                set_thread_gid(*gid)?;
                set_thread_uid(*uid)
            };
            if let Err(errno) = become_user() {
                return (Step::User, errno);
            }
        }
        default_signals();
        (Step::Program, self.become_first_program())
    }

    fn become_first_program(&self) -> Errno {
        let mut refused = Errno::NOENT;
        for program in &self.programs[..self.programs.len() - 1] {
            // SAFETY: all three are what execve(2) wants: a string, and arrays of strings with a null at their end.
            unsafe { libc::execve(*program, self.argv.as_ptr(), self.env.as_ptr()) };
            let errno = std::io::Error::last_os_error().raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error);
            match errno {
                Errno::NOENT | Errno::NOTDIR => {}
                // Another folder may have one that may be executed, as execvp(3) has it.
                Errno::ACCESS => refused = errno,
                _ => return errno,
            }
        }
        refused
    }
}

fn enter_session(stdio: &[OwnedFd; 3], terminal: bool) -> rustix::io::Result<()> {
    setsid()?;
    stdio::dup2_stdin(&stdio[0])?;
    stdio::dup2_stdout(&stdio[1])?;
    stdio::dup2_stderr(&stdio[2])?;
    if terminal {
        ioctl_tiocsctty(stdio::stdin())?;
    }
    Ok(())
}

/// What the agent handles or ignores goes back to its default before any signal is let in; the rest was never changed.
fn default_signals() {
    for signal in [libc::SIGCHLD, libc::SIGPIPE] {
        // SAFETY: the default disposition runs no code of ours, and without CLONE_SIGHAND it is the child's own.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: an empty signal set is plain data, and the mask is the child's own.
    unsafe {
        let mut none = mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}
