//! The system's allocator, as far as what is free in it can go back to the system.
//!
//! What values keep outside of heaps, messages that wait and buffers are from that allocator, and threads free what others have
//! made. glibc keeps what lies below the last piece of an arena that is in use, however much that is, until it is told to look
//! for whole pages. Others return pages by themselves.

/// Returns free pages to the system. It takes some milliseconds where much was freed, and other threads that allocate from the
/// same arena wait for it: for machines that rest or end.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    // SAFETY: may be called at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}
