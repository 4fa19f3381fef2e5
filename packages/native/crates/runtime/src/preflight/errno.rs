//! Error numbers in words, and what to do about those that `/dev/kvm` gives.

use std::fmt;
use std::io;

/// An error number of the kernel; prints as `EACCES (Permission denied)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Errno(pub(super) i32);

impl Errno {
    pub(super) fn last() -> Self {
        io::Error::last_os_error().into()
    }

    fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            libc::E2BIG => "E2BIG",
            libc::EACCES => "EACCES",
            libc::EAGAIN => "EAGAIN",
            libc::EBADF => "EBADF",
            libc::EBUSY => "EBUSY",
            libc::EEXIST => "EEXIST",
            libc::EFAULT => "EFAULT",
            libc::EINTR => "EINTR",
            libc::EINVAL => "EINVAL",
            libc::EIO => "EIO",
            libc::EISDIR => "EISDIR",
            libc::ELOOP => "ELOOP",
            libc::EMFILE => "EMFILE",
            libc::ENFILE => "ENFILE",
            libc::ENODEV => "ENODEV",
            libc::ENOENT => "ENOENT",
            libc::ENOMEM => "ENOMEM",
            libc::ENOSYS => "ENOSYS",
            libc::ENOTDIR => "ENOTDIR",
            libc::ENOTTY => "ENOTTY",
            libc::ENXIO => "ENXIO",
            libc::EOPNOTSUPP => "EOPNOTSUPP",
            libc::EPERM => "EPERM",
            libc::EROFS => "EROFS",
            _ => return None,
        })
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        // Errors that no system call gave (a path with a NUL byte) are the caller's invalid argument.
        Self(error.raw_os_error().unwrap_or(libc::EINVAL))
    }
}

impl From<kvm_ioctls::Error> for Errno {
    fn from(error: kvm_ioctls::Error) -> Self {
        Self(error.errno())
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = io::Error::from_raw_os_error(self.0).to_string();
        // The standard library appends the number, which the name replaces.
        let words = text.split(" (os error").next().unwrap_or_default();
        match self.name() {
            Some(name) => write!(f, "{name} ({words})"),
            None => write!(f, "errno {} ({words})", self.0),
        }
    }
}

/// What to do when opening the device at `path` fails with `errno`.
pub(super) fn open_remedy(path: &str, errno: Errno) -> Option<String> {
    Some(match errno.0 {
        libc::ENOENT => format!(
            "Load the module (`sudo modprobe kvm_intel` or `sudo modprobe kvm_amd`); in a VM ask its provider for nested \
             virtualization, in a container pass the device (`--device {path}`)."
        ),
        libc::EACCES => {
            "Add yourself to the device's group with `sudo usermod -aG kvm $USER` and log in again; where that group is not \
             kvm (`ls -l` tells), first `sudo chgrp kvm` and `sudo chmod 660` the device."
                .to_owned()
        }
        libc::EPERM => format!(
            "The device is forbidden to this process although its mode allows it: in a container pass `--device {path}`, in a \
             systemd unit set `DeviceAllow={path} rw`."
        ),
        libc::EBUSY => busy_remedy(),
        libc::ENODEV | libc::ENXIO => {
            "The device node has no driver behind it: load the module (`sudo modprobe kvm_intel` or `sudo modprobe kvm_amd`); \
             if that fails, switch on VT-x or AMD-V in the firmware or, in a VM, ask its provider for nested virtualization."
                .to_owned()
        }
        libc::EMFILE => "Raise the limit of open files (`ulimit -n`).".to_owned(),
        _ => return None,
    })
}

/// What to do when `KVM_CREATE_VM` fails with `errno`.
pub(super) fn create_vm_remedy(errno: Errno) -> Option<String> {
    Some(match errno.0 {
        libc::EBUSY => busy_remedy(),
        libc::ENOMEM => "Free memory on the host, or raise this process's memory limit.".to_owned(),
        libc::EMFILE => "Raise the limit of open files (`ulimit -n`).".to_owned(),
        libc::EIO | libc::EOPNOTSUPP => {
            "The CPU refused to switch virtualization on: look at `sudo dmesg`, and switch on VT-x or AMD-V in the firmware."
                .to_owned()
        }
        _ => return None,
    })
}

fn busy_remedy() -> String {
    "Another hypervisor holds the CPU's virtualization: stop its VMs and unload it (for VirtualBox \
     `sudo modprobe -r vboxnetadp vboxnetflt vboxdrv`)."
        .to_owned()
}
