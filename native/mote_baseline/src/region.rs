//! Fresh memory for one run: a mapping, huge pages asked for, and a position in it.
use std::ops::Range;
use std::ptr::NonNull;

const HUGE: usize = 2 << 20;

/// Memory that is given out from the front, never checked and never given back before the end.
pub(crate) struct Region {
    next: *mut u8,
    start: *mut u8,
    bytes: usize,
}

impl Region {
    /// Maps room for `bytes`.
    ///
    /// # Panics
    /// When the system has no such room.
    pub(crate) fn new(bytes: usize) -> Region {
        let bytes = bytes + HUGE;
        // SAFETY: an anonymous private mapping at an address of the kernel's choice touches nothing of ours.
        let start = unsafe {
            let start = libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            );
            assert!(start != libc::MAP_FAILED, "no room for {bytes} bytes");
            #[cfg(target_os = "linux")]
            libc::madvise(start, bytes, libc::MADV_HUGEPAGE);
            start.cast::<u8>()
        };
        // SAFETY: one huge page more was asked for, so the next start of one is inside.
        let next = unsafe { start.add(start.align_offset(HUGE)) };
        Region { next, start, bytes }
    }

    /// Returns the memory that has not been handed out.
    pub(crate) fn range(&self) -> Range<*mut u8> {
        // The end is one of 16 bytes from the next ones, too.
        let left = (self.start as usize + self.bytes - self.next as usize) & !15;
        self.next..self.next.wrapping_add(left)
    }

    /// The next 16 bytes.
    ///
    /// # Safety
    /// No more than was asked for is taken.
    #[inline(always)]
    pub(crate) unsafe fn granule<T>(&mut self) -> NonNull<T> {
        const { assert!(size_of::<T>() == 16 && align_of::<T>() <= 16) };
        let granule = self.next;
        // SAFETY: by the caller's promise this stays inside, so it is not null either.
        unsafe {
            self.next = granule.add(16);
            NonNull::new_unchecked(granule.cast())
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: start and bytes are those of the mapping.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}
