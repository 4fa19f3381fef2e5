//! A thread that can always be left: its answers are awaited with a limit, and a `KVM_RUN` in it can be interrupted.
//!
//! The interrupting signal is blocked in the thread and let through only while `KVM_RUN` runs (`KVM_SET_SIGNAL_MASK`): the ioctl
//! returns EINTR, and the signal stays pending and is taken with `sigtimedwait`. So no handler is installed, and the process that
//! loaded this library keeps its signals to itself.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How long an interrupted thread has to hand in what it saw.
const GRACE: Duration = Duration::from_millis(150);

/// What came of waiting for the next report.
#[derive(Debug)]
pub(super) enum Answer<T> {
    Given(T),
    /// The thread is gone without a report.
    Ended,
    /// The thread gave none, and none after it was interrupted.
    Hung,
}

/// A running thread that sends reports.
#[derive(Debug)]
pub(super) struct Watched<T> {
    reports: Receiver<T>,
    thread_id: libc::pid_t,
    // The thread does not end before this is dropped, so its id is not given to another while it may be signalled.
    hold: SyncSender<()>,
    thread: JoinHandle<()>,
}

impl<T: Send + 'static> Watched<T> {
    pub(super) fn spawn(work: impl FnOnce(&SyncSender<T>) + Send + 'static) -> io::Result<Self> {
        let (sender, reports) = mpsc::sync_channel(8);
        let (id_sender, id) = mpsc::sync_channel(1);
        let (hold, held) = mpsc::sync_channel::<()>(0);
        let thread = Builder::new().name("boxlab-preflight".to_owned()).spawn(move || {
            // SAFETY: gettid has no arguments and cannot fail.
            let thread_id = unsafe { libc::gettid() };
            block_signals();
            if id_sender.send(thread_id).is_ok() {
                work(&sender);
            }
            let _ = held.recv();
        })?;
        let thread_id = id.recv().map_err(io::Error::other)?;
        Ok(Self { reports, thread_id, hold, thread })
    }

    /// The next report. After `limit` the thread is interrupted, and has [`GRACE`] to answer.
    pub(super) fn next(&self, limit: Duration) -> Answer<T> {
        match self.reports.recv_timeout(limit) {
            Ok(report) => return Answer::Given(report),
            Err(RecvTimeoutError::Disconnected) => return Answer::Ended,
            Err(RecvTimeoutError::Timeout) => self.interrupt(),
        }
        match self.reports.recv_timeout(GRACE) {
            Ok(report) => Answer::Given(report),
            Err(RecvTimeoutError::Disconnected) => Answer::Ended,
            Err(RecvTimeoutError::Timeout) => Answer::Hung,
        }
    }

    /// Waits until the thread has closed its VM; leaves it behind when it hangs.
    pub(super) fn close(self) {
        drop(self.hold);
        while self.reports.recv_timeout(GRACE).is_ok() {}
        if let Err(mpsc::TryRecvError::Disconnected) = self.reports.try_recv() {
            // A panic in the thread has been reported as `Answer::Ended`.
            let _ = self.thread.join();
        }
    }

    fn interrupt(&self) {
        // SAFETY: a plain system call; `hold` keeps the thread, and with it the meaning of its id. The signal is blocked there.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), self.thread_id, interrupt_signal()) };
    }
}

/// The last real-time signal: nobody's default, and never delivered.
fn interrupt_signal() -> libc::c_int {
    libc::SIGRTMAX()
}

/// The signals that stay blocked during `KVM_RUN`, as the kernel's 64-bit set: all that the thread blocks, but the interrupting one.
pub(super) fn signal_mask_for_run() -> u64 {
    let mut mask = 0;
    for signal in 1..=64 {
        if !stays_open(signal) && signal != interrupt_signal() {
            mask |= 1u64 << (signal - 1);
        }
    }
    mask
}

/// Takes the interrupting signal if it has come.
pub(super) fn take_interrupt() -> bool {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    let no_wait = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: sigemptyset initialises the set before it is used; a null info pointer is allowed.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), interrupt_signal());
        libc::sigtimedwait(set.as_ptr(), ptr::null_mut(), &no_wait) == interrupt_signal()
    }
}

/// Faults of the thread itself must reach the process's handlers; 32 and 33 are the C library's own (a `setuid` waits for them).
fn stays_open(signal: libc::c_int) -> bool {
    matches!(
        signal,
        libc::SIGSEGV
            | libc::SIGBUS
            | libc::SIGILL
            | libc::SIGFPE
            | libc::SIGTRAP
            | libc::SIGABRT
            | libc::SIGSYS
            | 32
            | 33
    )
}

fn block_signals() {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigfillset initialises the set before it is used; a null old set is allowed.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        for signal in (1..=64).filter(|signal| stays_open(*signal)) {
            libc::sigdelset(set.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut());
    }
}
