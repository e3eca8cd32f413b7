//! When code that one thread has written may be run by all.
//!
//! x86 processors see fresh code by themselves. AArch64 needs two steps. Caches of instructions may hold what was at these
//! addresses before, code of a machine that has ended, say: that is cleaned for all cores by one. And a core may have fetched
//! some of it already: it drops that at a barrier which each core has to pass itself, and only the system can see to that.
//!
//! Invariants:
//! 1. When [`publish`] has answered that it could, no core runs anything older than what is in the range.
//! 2. Where the system cannot do that, there is no native code ([`can_be_published`]).

pub(crate) use system::publish;

/// Returns whether this computer can have native code at all.
pub fn can_be_published() -> bool {
    system::can_be_published()
}

#[cfg(target_arch = "x86_64")]
mod system {
    pub(crate) fn can_be_published() -> bool {
        true
    }

    /// Lets all threads run code that has just been written; whether they may.
    ///
    /// # Safety
    /// The range is mapped, and may be read.
    pub(crate) unsafe fn publish(_start: *mut u8, _bytes: usize) -> bool {
        true
    }
}

#[cfg(all(
    target_arch = "aarch64",
    target_os = "linux",
    not(any(miri, mote_portable))
))]
mod system {
    use super::barrier;

    pub(crate) fn can_be_published() -> bool {
        barrier::command().is_some()
    }

    /// Lets all threads run code that has just been written; whether they may.
    ///
    /// # Safety
    /// The range is mapped, and may be read.
    pub(crate) unsafe fn publish(start: *mut u8, bytes: usize) -> bool {
        unsafe extern "C" {
            fn __clear_cache(start: *mut u8, end: *mut u8);
        }
        // SAFETY: by the caller's promise.
        unsafe { __clear_cache(start, start.add(bytes)) };
        barrier::command().is_some_and(barrier::pass)
    }
}

#[cfg(not(any(
    target_arch = "x86_64",
    all(
        target_arch = "aarch64",
        target_os = "linux",
        not(any(miri, mote_portable))
    )
)))]
mod system {
    pub(crate) fn can_be_published() -> bool {
        false
    }

    /// Lets all threads run code that has just been written; whether they may.
    ///
    /// # Safety
    /// The range is mapped, and may be read.
    pub(crate) unsafe fn publish(_start: *mut u8, _bytes: usize) -> bool {
        false
    }
}

/// The barrier that each core has to pass if it runs a thread of this process.
#[cfg(all(target_os = "linux", any(target_arch = "aarch64", test), not(miri)))]
#[cfg_attr(any(mote_portable, not(target_arch = "aarch64")), allow(dead_code))]
mod barrier {
    use libc::{c_int, c_long};
    use std::sync::OnceLock;

    /// Returns the command by which this system is asked for it; `None` where the system has none.
    pub(super) fn command() -> Option<c_int> {
        static COMMAND: OnceLock<Option<c_int>> = OnceLock::new();
        *COMMAND.get_or_init(|| {
            let known = membarrier(libc::MEMBARRIER_CMD_QUERY as c_int);
            // A system that does not know the call answers -1.
            let is_known = |command: c_int| known > 0 && known & command as c_long != 0;
            let fast = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE as c_int;
            let register = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE as c_int;
            if is_known(fast) && membarrier(register) == 0 {
                return Some(fast);
            }
            // Before Linux 4.16. It waits until each core has been in the kernel, which takes milliseconds; to come back
            // from there is such a barrier.
            let slow = libc::MEMBARRIER_CMD_GLOBAL as c_int;
            is_known(slow).then_some(slow)
        })
    }

    /// Returns when all have passed it; whether they have.
    pub(super) fn pass(command: c_int) -> bool {
        membarrier(command) == 0
    }

    fn membarrier(command: c_int) -> c_long {
        // SAFETY: the call reads and writes no memory of ours. Flags and a processor's number are for other commands.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
    }
}

#[cfg(all(test, target_os = "linux", not(any(miri, loom))))]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_knows_can_be_passed() {
        assert!(barrier::command().is_none_or(barrier::pass));
    }

    #[test]
    #[cfg(all(target_arch = "aarch64", not(mote_portable)))]
    fn code_is_published_where_every_core_can_be_made_to_pass_a_barrier() {
        let mut byte = 0_u8;
        // SAFETY: the range is that byte.
        let is_published = unsafe { publish(&raw mut byte, 1) };
        assert_eq!(is_published, barrier::command().is_some());
        assert_eq!(is_published, can_be_published());
    }
}
