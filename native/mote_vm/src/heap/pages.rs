//! Address space from the operating system: large aligned regions, huge pages asked for.
//!
//! Does not know what is stored in them.

/// Returns `bytes` of zeroed memory aligned to `align` (both multiples of the page size), or `None` when the
/// system refuses. Pages are only taken from the system when first touched.
#[cfg(not(miri))]
pub(crate) fn map(bytes: usize, align: usize) -> Option<*mut u8> {
    let span = bytes.checked_add(align)?;
    // SAFETY: an anonymous private mapping at an address of the kernel's choice touches nothing of ours.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            span,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return None;
    }
    let start = start as usize;
    let aligned = start.next_multiple_of(align);
    let (before, after) = (aligned - start, start + span - aligned - bytes);
    // SAFETY: both trimmed pieces are whole pages of the mapping just made, and nobody else knows it yet.
    unsafe {
        if before > 0 {
            libc::munmap(start as *mut _, before);
        }
        if after > 0 {
            libc::munmap((aligned + bytes) as *mut _, after);
        }
        #[cfg(target_os = "linux")]
        if align >= HUGE {
            libc::madvise(aligned as *mut _, bytes, libc::MADV_HUGEPAGE);
        }
    }
    Some(aligned as *mut u8)
}

/// Gives back what [`map`] returned.
///
/// # Safety
/// `start` and `bytes` are those of one `map`, and nothing refers into it any more.
#[cfg(not(miri))]
pub(crate) unsafe fn unmap(start: *mut u8, bytes: usize, _align: usize) {
    // SAFETY: by the caller's promise.
    unsafe { libc::munmap(start as *mut _, bytes) };
}

/// Lets the system have the pages; they read as zeroes when touched again.
///
/// # Safety
/// Nothing in the range is used any more.
#[cfg(not(miri))]
pub(crate) unsafe fn clean(start: *mut u8, bytes: usize) {
    // SAFETY: by the caller's promise.
    unsafe { libc::madvise(start as *mut _, bytes, libc::MADV_DONTNEED) };
}

/// As above: zeroes only.
///
/// # Safety
/// As above.
#[cfg(miri)]
pub(crate) unsafe fn clean(start: *mut u8, bytes: usize) {
    // SAFETY: by the caller's promise.
    unsafe { std::ptr::write_bytes(start, 0, bytes) };
}

/// The usual size of a transparent huge page.
#[cfg(all(target_os = "linux", not(miri)))]
const HUGE: usize = 2 << 20;

/// Under miri: the allocator, which it can check.
#[cfg(miri)]
pub(crate) fn map(bytes: usize, align: usize) -> Option<*mut u8> {
    let layout = std::alloc::Layout::from_size_align(bytes, align).ok()?;
    // SAFETY: the layout has a size.
    let start = unsafe { std::alloc::alloc_zeroed(layout) };
    (!start.is_null()).then_some(start)
}

/// Gives back what [`map`] returned.
///
/// # Safety
/// `start`, `bytes` and `align` are those of one `map`, and nothing refers into it any more.
#[cfg(miri)]
pub(crate) unsafe fn unmap(start: *mut u8, bytes: usize, align: usize) {
    // SAFETY: by the caller's promise.
    unsafe {
        std::alloc::dealloc(
            start,
            std::alloc::Layout::from_size_align_unchecked(bytes, align),
        )
    };
}
