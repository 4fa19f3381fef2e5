//! The address of a guest whose init is the agent: what QEMU's user network gives to its first guest (QEMU's manual,
//! "Using the user mode network stack"). An image's own init asks for it by DHCP.

use std::fs;
use std::io;
use std::mem;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

const GUEST: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
const MASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 0);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);
const RESOLVER: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 3);

/// Brings up `lo`; the kernel then gives it 127.0.0.1 and ::1 by itself.
pub fn raise_loopback() -> io::Result<()> {
    raise(&socket()?, b"lo")
}

/// Gives the first network card its address and the way out. Without a card there is nothing to do.
pub fn configure() -> io::Result<()> {
    if !Path::new("/sys/class/net/eth0").exists() {
        return Ok(());
    }
    let socket = socket()?;
    for (request, address) in [(libc::SIOCSIFADDR, GUEST), (libc::SIOCSIFNETMASK, MASK)] {
        let mut card = named(b"eth0");
        card.ifr_ifru.ifru_addr = socket_address(address);
        control(&socket, request, &raw const card)?;
    }
    raise(&socket, b"eth0")?;
    // SAFETY: rtentry is plain data for which all zero bytes are a value.
    let mut route: libc::rtentry = unsafe { mem::zeroed() };
    route.rt_dst = socket_address(Ipv4Addr::UNSPECIFIED);
    route.rt_genmask = socket_address(Ipv4Addr::UNSPECIFIED);
    route.rt_gateway = socket_address(GATEWAY);
    route.rt_flags = libc::RTF_UP | libc::RTF_GATEWAY;
    control(&socket, libc::SIOCADDRT, &raw const route)
}

/// Says who answers names, where nobody has said so: with the image's own root in place.
pub fn name_resolver() -> io::Result<()> {
    let file = Path::new("/etc/resolv.conf");
    if !Path::new("/sys/class/net/eth0").exists() || fs::metadata(file).is_ok_and(|facts| facts.len() > 0) {
        return Ok(());
    }
    fs::write(file, format!("nameserver {RESOLVER}\n"))
}

fn socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?)
}

fn raise(socket: &OwnedFd, name: &[u8]) -> io::Result<()> {
    let mut card = named(name);
    card.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    control(socket, libc::SIOCSIFFLAGS, &raw const card)
}

fn named(name: &[u8]) -> libc::ifreq {
    // SAFETY: ifreq is plain data for which all zero bytes are a value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name) {
        *place = byte.cast_signed();
    }
    request
}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: sockaddr_in is plain data, of the size of a sockaddr, and is read as one by the kernel.
    unsafe {
        let mut inet: libc::sockaddr_in = mem::zeroed();
        inet.sin_family = libc::AF_INET as libc::sa_family_t;
        inet.sin_addr.s_addr = u32::from(address).to_be();
        mem::transmute::<libc::sockaddr_in, libc::sockaddr>(inet)
    }
}

fn control<T>(socket: &OwnedFd, request: libc::c_ulong, argument: *const T) -> io::Result<()> {
    // SAFETY: each request reads one structure of the type that it is called with here, which outlives the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), request, argument) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
