//! The virtio-serial port to the host: found by its name, opened when the host is there.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use boxlab_protocol::{AGENT_SERVING_MARKER, PORT_NAME};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};
use tokio::time::{Instant, sleep, timeout};

use crate::console;
use crate::descriptor::Descriptor;

/// Where the kernel lists the ports (drivers/char/virtio_console.c).
const CLASS: &str = "/sys/class/virtio-ports";

/// After this time without a port the console tells.
const PATIENCE: Duration = Duration::from_secs(30);

/// Subscribes to the kernel's device events. To be called before looking, so that no port comes in between.
pub fn listen() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(KOBJECT_UEVENT))?;
    // Group 1 is the kernel's own events, 2 those of udev.
    bind(&socket, &SocketAddrNetlink::new(0, 1))?;
    Ok(socket)
}

/// Waits for ports, as long as it takes.
#[derive(Debug)]
pub struct Ports {
    uevents: Option<Descriptor>,
}

impl Ports {
    /// Takes the socket of [`listen`]; without one it looks from time to time.
    pub fn new(uevents: Option<OwnedFd>) -> Self {
        Self { uevents: uevents.and_then(|fd| Descriptor::new(fd).ok()) }
    }

    /// The device node of our port. The port's name appears some time after its module was loaded.
    pub async fn find(&self) -> PathBuf {
        let begun = Instant::now();
        let mut told = false;
        loop {
            if let Some(path) = look(Path::new(CLASS)) {
                return path;
            }
            if begun.elapsed() >= PATIENCE && !told {
                told = true;
                console::say(&format!(
                    "boxlab: no virtio port named {PORT_NAME}: is virtio_console in the kernel or the initramfs?"
                ));
            }
            // Events can be lost when many come at once, so even then it looks again before long.
            let _ = timeout(Duration::from_secs(1), self.event()).await;
        }
    }

    /// Waits for an event of a port.
    async fn event(&self) {
        let Some(uevents) = &self.uevents else { return sleep(Duration::from_millis(20)).await };
        let waited = uevents.readable(|socket| {
            let mut ours = false;
            let mut message = [0; 4096];
            loop {
                match recv(socket, &mut message[..], RecvFlags::empty()) {
                    Ok((_, length)) => ours |= message[..length.min(4096)].windows(13).any(|w| w == b"/virtio-ports"),
                    // Too many came at once: ours may have been among them.
                    Err(Errno::NOBUFS) => ours = true,
                    Err(_) if ours => return Ok(()),
                    Err(errno) => return Err(errno.into()),
                }
            }
        });
        if waited.await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    }
}

fn look(class: &Path) -> Option<PathBuf> {
    fs::read_dir(class).ok()?.flatten().find_map(|port| {
        let name = fs::read_to_string(port.path().join("name")).ok()?;
        (name.trim_end() == PORT_NAME).then(|| Path::new("/dev").join(port.file_name()))
    })
}

/// Opens a port, says on the console that it is served, and waits until the host is at its other end.
pub async fn open(path: &Path) -> io::Result<Descriptor> {
    let port =
        rustix::fs::open(path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty())?;
    console::say(AGENT_SERVING_MARKER);
    // Until the host is there, poll(2) tells a hang-up and read(2) an end. The kernel wakes pollers when the host
    // opens its side; an edge-triggered epoll turns that into one event, where a plain one would spin.
    let edges = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let interest = EventFlags::IN | EventFlags::OUT | EventFlags::ET;
    epoll::add(&edges, &port, EventData::new_u64(0), interest)?;
    let edges = Descriptor::new(edges)?;
    while hung_up(&port)? {
        edges
            .readable(|edges| {
                let mut events = Vec::with_capacity(1);
                epoll::wait(edges, rustix::buffer::spare_capacity(&mut events), Some(&Timespec::default()))?;
                if events.is_empty() { Err(Errno::AGAIN.into()) } else { Ok(()) }
            })
            .await?;
    }
    Descriptor::new(port)
}

fn hung_up(port: impl AsFd) -> io::Result<bool> {
    let mut fds = [PollFd::new(&port, PollFlags::IN | PollFlags::OUT)];
    poll(&mut fds, Some(&Timespec::default()))?;
    Ok(fds[0].revents().contains(PollFlags::HUP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_found_by_its_name_among_others() {
        let class = tempfile::tempdir().unwrap();
        assert_eq!(look(class.path()), None);
        for (node, name) in [("vport0p1", "org.qemu.guest_agent.0\n"), ("vport1p1", "boxlab.agent.0\n")] {
            fs::create_dir(class.path().join(node)).unwrap();
            fs::write(class.path().join(node).join("name"), name).unwrap();
        }
        // A port whose name the host has not told yet.
        fs::create_dir(class.path().join("vport2p1")).unwrap();
        assert_eq!(look(class.path()), Some(PathBuf::from("/dev/vport1p1")));
    }

    #[tokio::test]
    async fn listening_for_devices_works_without_a_box() {
        let ports = Ports::new(Some(listen().unwrap()));
        assert!(timeout(Duration::from_millis(50), ports.event()).await.is_err());
    }
}
