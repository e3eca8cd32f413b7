//! Address space from the operating system: large aligned regions, huge pages where they are asked for.
//!
//! Does not know what is stored in them.
//!
//! Invariants:
//! 1. Ranges that are mapped, trimmed and cleaned are whole pages, whose size is the system's to say (4, 16 or 64 KiB):
//!    it refuses to unmap from the middle of one, and whatever it refuses would stay mapped forever.
//! 2. Cleaned memory reads as zeroes, whatever the system does with the pages. Only Linux promises that of
//!    `MADV_DONTNEED`; elsewhere that is mere advice.

#[cfg(miri)]
pub(crate) use checked::{map, page, unmap};
#[cfg(not(miri))]
pub(crate) use mapped::{map, page, unmap};

/// Asks for huge pages there, or for none: what is hardly used must not take more than it touches.
///
/// # Safety
/// `start` and `bytes` are whole pages of one [`map`].
pub(crate) unsafe fn ask_for_huge(start: *mut u8, bytes: usize, huge: bool) {
    // SAFETY: by the caller's promise.
    unsafe { system::advise(start, bytes, huge) };
}

/// Lets the system have the pages; they read as zeroes when touched again.
///
/// # Safety
/// `start` and `bytes` are whole pages of one [`map`], and nothing in them is used any more.
pub(crate) unsafe fn clean(start: *mut u8, bytes: usize) {
    // SAFETY: by the caller's promise.
    unsafe {
        if !system::discard(start, bytes) {
            // What is locked into memory, say, stays there.
            std::ptr::write_bytes(start, 0, bytes);
        }
    }
}

/// Lets the system have those pages that lie in there as a whole. What is read there afterwards is undefined.
///
/// # Safety
/// `start` and `bytes` lie in one [`map`], and nothing in them is used any more.
pub(crate) unsafe fn let_go_within(start: *mut u8, bytes: usize) {
    let page = page();
    let before = start.addr().next_multiple_of(page) - start.addr();
    let whole = bytes.saturating_sub(before) / page * page;
    if whole > 0 {
        // SAFETY: whole pages, by the caller's promise. What the system keeps stays as it is.
        unsafe { system::discard(start.add(before), whole) };
    }
}

#[cfg(not(miri))]
mod mapped {
    use super::system;

    /// Returns at least `bytes` of zeroed memory aligned to `align`, a power of two, or `None` when the system refuses.
    /// Pages are only taken from the system when first touched.
    pub(crate) fn map(bytes: usize, align: usize) -> Option<*mut u8> {
        let ask = Ask::of(bytes, align, page())?;
        // SAFETY: an anonymous private mapping at an address of the kernel's choice touches nothing of ours.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                ask.span,
                libc::PROT_READ | libc::PROT_WRITE,
                system::FRESH,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        let start: *mut u8 = start.cast();
        let (before, after) = ask.trims(start.addr());
        // SAFETY: both trimmed pieces are whole pages of the mapping just made (invariant 1), and nobody else knows it yet.
        unsafe {
            let aligned = start.add(before);
            if before > 0 {
                libc::munmap(start.cast(), before);
            }
            if after > 0 {
                libc::munmap(aligned.add(ask.bytes).cast(), after);
            }
            Some(aligned)
        }
    }

    /// Gives back what [`map`] returned.
    ///
    /// # Safety
    /// `start` and `bytes` are those of one `map`, and nothing refers into it any more.
    pub(crate) unsafe fn unmap(start: *mut u8, bytes: usize, _align: usize) {
        // SAFETY: by the caller's promise. The system takes all pages that the range has a part of.
        unsafe { libc::munmap(start.cast(), bytes) };
    }

    /// Bytes of a page of the system's.
    pub(crate) fn page() -> usize {
        // SAFETY: only answers a number.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(bytes).expect("the system knows the size of its pages")
    }

    /// The size to ask for, so that aligned whole pages are in it.
    struct Ask {
        bytes: usize,
        align: usize,
        span: usize,
    }

    impl Ask {
        fn of(bytes: usize, align: usize, page: usize) -> Option<Ask> {
            let bytes = bytes.checked_next_multiple_of(page)?;
            let align = align.max(page);
            // Whatever comes begins with a page.
            let span = bytes.checked_add(align - page)?;
            Some(Ask { bytes, align, span })
        }

        /// Returns how many bytes are too many at either side when they begin there.
        fn trims(&self, start: usize) -> (usize, usize) {
            let before = start.next_multiple_of(self.align) - start;
            (before, self.span - before - self.bytes)
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn whole_pages_are_trimmed_whatever_their_size() {
            for page in [4 << 10, 16 << 10, 64 << 10] {
                for (bytes, align) in [(1, 1), (416_008_320, 8), (2 << 20, 2 << 20), (page, page)] {
                    let ask = Ask::of(bytes, align, page).unwrap();
                    for start in (0..65).map(|n| n * page) {
                        let (before, after) = ask.trims(start);
                        assert!(
                            before % page == 0 && after % page == 0,
                            "{bytes} at {start}"
                        );
                        assert!((start + before).is_multiple_of(align));
                        let whole = bytes.next_multiple_of(page);
                        assert_eq!(ask.span - before - after, whole);
                    }
                }
            }
            assert!(Ask::of(usize::MAX, 1, 4096).is_none());
            assert!(Ask::of((1 << 63) + 1, 1 << 63, 4096).is_none());
        }
    }
}

/// Linux promises zeroes, and likes to be told where huge pages are of use.
#[cfg(all(target_os = "linux", not(any(miri, mote_portable))))]
mod system {
    /// Flags for mapping memory. Most of it may never be touched: nothing is set aside for it.
    pub(super) const FRESH: libc::c_int =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

    /// # Safety
    /// The range is mapped.
    pub(super) unsafe fn advise(start: *mut u8, bytes: usize, huge: bool) {
        let advice = match huge {
            true => libc::MADV_HUGEPAGE,
            false => libc::MADV_NOHUGEPAGE,
        };
        // SAFETY: by the caller's promise; it changes nothing that can be read there.
        unsafe { libc::madvise(start.cast(), bytes, advice) };
    }

    /// Takes the pages away; whether it did, and they read as zeroes.
    ///
    /// # Safety
    /// As for `clean`.
    pub(super) unsafe fn discard(start: *mut u8, bytes: usize) -> bool {
        // SAFETY: by the caller's promise.
        unsafe { libc::madvise(start.cast(), bytes, libc::MADV_DONTNEED) == 0 }
    }
}

/// Elsewhere a fresh mapping in place of the old one is what reads as zeroes.
#[cfg(not(any(miri, all(target_os = "linux", not(mote_portable)))))]
mod system {
    pub(super) const FRESH: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;

    /// # Safety
    /// The range is mapped.
    pub(super) unsafe fn advise(_start: *mut u8, _bytes: usize, _huge: bool) {}

    /// Takes the pages away; whether it did, and they read as zeroes.
    ///
    /// # Safety
    /// As for `clean`.
    pub(super) unsafe fn discard(start: *mut u8, bytes: usize) -> bool {
        let (may, how) = (libc::PROT_READ | libc::PROT_WRITE, FRESH | libc::MAP_FIXED);
        // SAFETY: by the caller's promise these are pages of ours that nobody uses.
        unsafe { libc::mmap(start.cast(), bytes, may, how, -1, 0) != libc::MAP_FAILED }
    }
}

/// Under miri: the allocator, which it can check.
#[cfg(miri)]
mod checked {
    use std::alloc::{alloc_zeroed, dealloc, Layout};

    pub(crate) fn page() -> usize {
        4096
    }

    pub(crate) fn map(bytes: usize, align: usize) -> Option<*mut u8> {
        let layout = Layout::from_size_align(bytes, align).ok()?;
        // SAFETY: the layout has a size.
        let start = unsafe { alloc_zeroed(layout) };
        (!start.is_null()).then_some(start)
    }

    /// Gives back what [`map`] returned.
    ///
    /// # Safety
    /// `start`, `bytes` and `align` are those of one `map`, and nothing refers into it any more.
    pub(crate) unsafe fn unmap(start: *mut u8, bytes: usize, align: usize) {
        // SAFETY: by the caller's promise.
        unsafe { dealloc(start, Layout::from_size_align_unchecked(bytes, align)) };
    }
}

#[cfg(miri)]
mod system {
    /// # Safety
    /// The range is mapped.
    pub(super) unsafe fn advise(_start: *mut u8, _bytes: usize, _huge: bool) {}

    /// # Safety
    /// As for `clean`.
    pub(super) unsafe fn discard(_start: *mut u8, _bytes: usize) -> bool {
        false
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const BYTES: usize = 1 << 20;

    /// Returns whether all bytes of a fresh mapping are zeroes after they were written and cleaned.
    fn reads_as_zeroes(between: impl FnOnce(*mut u8)) -> bool {
        let start = map(BYTES, BYTES).expect("memory");
        // SAFETY: mapped, and nobody else knows it.
        unsafe {
            std::ptr::write_bytes(start, 0xDB, BYTES);
            between(start);
            clean(start, BYTES);
            let is_clean = std::slice::from_raw_parts(start, BYTES)
                .iter()
                .all(|b| *b == 0);
            *start.add(BYTES - 1) = 1;
            unmap(start, BYTES, BYTES);
            is_clean
        }
    }

    #[test]
    fn what_was_cleaned_reads_as_zeroes() {
        assert!(reads_as_zeroes(|_| ()));
    }

    #[test]
    #[cfg(not(miri))]
    fn what_is_locked_into_memory_reads_as_zeroes_too() {
        // SAFETY: the range is mapped. Where the system locks nothing, this is the test above.
        assert!(reads_as_zeroes(|start| unsafe {
            libc::mlock(start.add(BYTES / 2).cast(), 1);
        }));
    }
}
