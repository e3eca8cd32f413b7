//! Memory that holds machine code: written, then made executable and never written again.
//!
//! Invariants:
//! 1. No address of code is published before every core would run the code as it was written (platform/code_pages.rs).
use crate::platform::code_pages;

/// The linked code of a unit.
pub struct CodeMemory {
    start: *mut u8,
    bytes: usize,
    offsets: Vec<usize>,
}

// SAFETY: the memory is not written any more once it is made, and freed by the last owner only.
unsafe impl Send for CodeMemory {}

impl CodeMemory {
    /// Puts the image of linked code where it can run; pieces start at `offsets`. `None` when the system has no memory.
    pub fn of(image: &[u8], offsets: Vec<usize>) -> Option<CodeMemory> {
        let bytes = image.len().max(1);
        // SAFETY: an anonymous private mapping at an address of the kernel's choice touches nothing of ours.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        let memory = CodeMemory {
            start: start.cast(),
            bytes,
            offsets,
        };
        // SAFETY: the mapping has room for the image, and nobody else knows it yet.
        let may_run = unsafe {
            std::ptr::copy_nonoverlapping(image.as_ptr(), memory.start, image.len());
            libc::mprotect(start, bytes, libc::PROT_READ | libc::PROT_EXEC) == 0
                && code_pages::publish(memory.start, bytes)
        };
        may_run.then_some(memory)
    }

    /// Returns the start of the piece of that index.
    pub fn start(&self, piece: usize) -> *const u8 {
        // SAFETY: pieces start within the mapping.
        unsafe { self.start.add(self.offsets[piece]) }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for CodeMemory {
    fn drop(&mut self) {
        // SAFETY: mapped by `of`; the program drops it when nothing runs any more.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}
