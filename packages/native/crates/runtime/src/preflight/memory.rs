//! The guest's memory in this process.

use std::ptr::{self, NonNull};

use super::errno::Errno;
use super::machine::Stop;

/// Guest memory, from address 0.
pub(super) const MEMORY_BYTES: usize = 2 << 20;

/// Zeroed memory that the guest sees from address 0.
#[derive(Debug)]
pub(super) struct GuestMemory {
    start: NonNull<u8>,
}

impl GuestMemory {
    pub(super) fn new() -> Result<Self, Stop> {
        // SAFETY: a fresh private mapping, wherever the kernel likes; the result is checked.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                MEMORY_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        NonNull::new(start.cast())
            .filter(|_| start != libc::MAP_FAILED)
            .map(|start| Self { start })
            .ok_or_else(|| Stop::Setup { what: "mmap of the guest's memory", errno: Errno::last() })
    }

    /// Where the memory starts in this process.
    pub(super) fn host_address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// Writes to guest-physical memory. For use while no vCPU runs.
    ///
    /// # Panics
    /// If the range is not in the guest's memory.
    pub(super) fn write(&self, address: u64, bytes: &[u8]) {
        let offset = usize::try_from(address).unwrap_or(usize::MAX);
        assert!(offset.saturating_add(bytes.len()) <= MEMORY_BYTES, "address {address:#x} is outside the guest");
        // SAFETY: the range was checked; nothing else holds a reference into the mapping, and no vCPU runs.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().add(offset), bytes.len()) };
    }

    /// Writes little-endian words.
    pub(super) fn write_words(&self, address: u64, words: &[u64]) {
        for (word, at) in words.iter().zip((address..).step_by(8)) {
            self.write(at, &word.to_le_bytes());
        }
    }
}

impl Drop for GuestMemory {
    fn drop(&mut self) {
        // SAFETY: our own mapping, of that size, which the VM no longer uses.
        unsafe { libc::munmap(self.start.as_ptr().cast(), MEMORY_BYTES) };
    }
}
