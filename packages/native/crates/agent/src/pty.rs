//! Terminals for commands.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use boxlab_protocol::WindowSize;
use rustix::fs::{Gid, Mode, Uid, fchmod, fchown};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, SpecialCodeIndex, Winsize, tcgetattr, tcsetwinsize};

use crate::users::Identity;

/// The two ends of a terminal.
pub struct Pty {
    /// Ours.
    pub master: OwnedFd,
    /// The command's.
    pub slave: OwnedFd,
}

/// Makes a terminal that belongs to a user, as login(1) does.
pub fn open(size: WindowSize, owner: &Identity) -> io::Result<Pty> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    unlockpt(&master)?;
    // By descriptor and not by name: it works wherever /dev/pts is mounted.
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    resize(&master, size)?;
    fchown(&slave, Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid)))?;
    fchmod(&slave, Mode::RUSR | Mode::WUSR | Mode::WGRP)?;
    Ok(Pty { master, slave })
}

/// Sets the size; the kernel tells the foreground process group with SIGWINCH.
pub fn resize(terminal: impl AsFd, size: WindowSize) -> io::Result<()> {
    Ok(tcsetwinsize(terminal, Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 })?)
}

/// What to type so that the command's reads meet an end, after the input ended with `last`: the end-of-file
/// character once at the start of a line and twice elsewhere; nothing where the command reads single characters.
pub fn end_of_input(terminal: impl AsFd, last: Option<u8>) -> Vec<u8> {
    let Ok(state) = tcgetattr(terminal) else { return Vec::new() };
    if !state.local_modes.contains(LocalModes::ICANON) {
        return Vec::new();
    }
    let times = if matches!(last, None | Some(b'\n' | b'\r')) { 1 } else { 2 };
    vec![state.special_codes[SpecialCodeIndex::VEOF]; times]
}
