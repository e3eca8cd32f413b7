//! How urgent a thread is to the system.

/// The calling thread gives way to the node's other threads from now on, until it ends: it gets less of a core that others
/// want, and none of them waits for the end of its time slice.
#[cfg(all(target_os = "linux", not(any(miri, loom, mote_portable))))]
pub(crate) fn give_way() {
    // A third of what others get.
    const NICER: libc::c_int = 5;
    // SAFETY: both only look at, or change, the calling thread: on Linux each has a priority of its own. One that is refused
    // stays as it was.
    unsafe {
        let now = libc::getpriority(libc::PRIO_PROCESS, 0);
        libc::setpriority(libc::PRIO_PROCESS, 0, now + NICER);
    }
}

/// Elsewhere a priority is the whole process's.
#[cfg(not(all(target_os = "linux", not(any(miri, loom, mote_portable)))))]
pub(crate) fn give_way() {}
