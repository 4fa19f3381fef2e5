//! A vCPU's statistics, by name, from `KVM_GET_STATS_FD` (Linux 5.14 and later; Documentation/virt/kvm/api.rst 4.133).
//!
//! File layout: header `{u32 flags, name_size, num_desc, id_offset, desc_offset, data_offset}`; descriptors
//! `{u32 flags; s16 exponent; u16 size; u32 offset; u32 bucket_size; char name[name_size]}`; data of u64. Descriptors are not in the
//! order of their data.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;

use super::finding::Counters;

/// `_IO(KVMIO, 0xce)`; needs `KVM_CAP_BINARY_STATS_FD`.
const KVM_GET_STATS_FD: libc::c_ulong = 0xaece;
const HEADER_BYTES: usize = 24;
const DESCRIPTOR_BYTES: usize = 16;
/// Far above the 5 KiB of current kernels; a bound for what a header may ask to read.
const MOST_BYTES: usize = 1 << 20;

/// An open statistics file and where in it the counters are.
#[derive(Debug)]
pub(super) struct VcpuStats {
    file: File,
    insn_emulation: Option<u64>,
    exits: Option<u64>,
    pf_taken: Option<u64>,
}

impl VcpuStats {
    /// Opens the statistics of a vCPU; `None` where the kernel has none or their layout makes no sense.
    pub(super) fn open(vcpu: &impl AsRawFd) -> Option<Self> {
        // SAFETY: the request takes no argument.
        let fd = unsafe { libc::ioctl(vcpu.as_raw_fd(), KVM_GET_STATS_FD) };
        if fd < 0 {
            return None;
        }
        // SAFETY: the kernel has just made this descriptor for us alone.
        let file = unsafe { File::from_raw_fd(fd) };
        let mut header = [0; HEADER_BYTES];
        file.read_exact_at(&mut header, 0).ok()?;
        let mut layout = vec![0; Layout::parse(&header)?.descriptors_end()?];
        file.read_exact_at(&mut layout, 0).ok()?;
        let find = |name| position(&layout, name);
        Some(Self { insn_emulation: find("insn_emulation"), exits: find("exits"), pf_taken: find("pf_taken"), file })
    }

    /// The counters now; one that cannot be read is absent.
    pub(super) fn read(&self) -> Counters {
        let at = |position: Option<u64>| {
            let mut value = [0; 8];
            self.file.read_exact_at(&mut value, position?).ok()?;
            Some(u64::from_ne_bytes(value))
        };
        Counters { insn_emulation: at(self.insn_emulation), exits: at(self.exits), pf_taken: at(self.pf_taken) }
    }
}

/// The parts of the header that are needed.
#[derive(Debug)]
struct Layout {
    name_bytes: usize,
    descriptors: usize,
    descriptors_at: usize,
    data_at: u32,
}

impl Layout {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let at = |offset| u32_at(bytes, offset);
        Some(Self {
            name_bytes: at(4)? as usize,
            descriptors: at(8)? as usize,
            descriptors_at: at(16)? as usize,
            data_at: at(20)?,
        })
    }

    fn descriptors_end(&self) -> Option<usize> {
        let one = DESCRIPTOR_BYTES.checked_add(self.name_bytes)?;
        let end = one.checked_mul(self.descriptors)?.checked_add(self.descriptors_at)?;
        (end <= MOST_BYTES).then_some(end)
    }
}

/// Where in the file the value of `name` is.
pub(super) fn position(bytes: &[u8], name: &str) -> Option<u64> {
    let layout = Layout::parse(bytes)?;
    let descriptors = bytes.get(layout.descriptors_at..layout.descriptors_end()?)?;
    let found = descriptors.chunks_exact(DESCRIPTOR_BYTES + layout.name_bytes).find(|descriptor| {
        let stored = &descriptor[DESCRIPTOR_BYTES..];
        stored.split(|byte| *byte == 0).next() == Some(name.as_bytes())
    })?;
    Some(u64::from(layout.data_at) + u64::from(u32_at(found, 8)?))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let field = bytes.get(offset..offset + 4)?;
    Some(u32::from_ne_bytes(field.try_into().ok()?))
}
