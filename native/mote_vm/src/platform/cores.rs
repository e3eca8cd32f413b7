//! Which cores the system lets each thread run on. Where it does not say, nothing is done.

/// The number of a core.
pub(crate) type Core = u32;

/// Answer of [`here`] where the system does not say.
pub(crate) const NOWHERE: Core = Core::MAX;

/// The numbers of the cores that this process may run on; none where the system does not say.
pub(crate) fn usable() -> Vec<usize> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    cores.iter().map(|core| core.id).collect()
}

/// Binds the calling thread to a core. A core that does not exist binds to none, and some systems take it as a hint only.
pub(crate) fn bind(core: usize) {
    core_affinity::set_for_current(core_affinity::CoreId { id: core });
}

pub(crate) use system::{bar_from_here, here, restore, step_aside, this_thread, Set, ThreadId};
#[cfg(all(test, loom))]
pub(crate) use system::{end, is_barred};

#[cfg(all(target_os = "linux", not(any(miri, loom, mote_portable))))]
mod system {
    use super::{Core, NOWHERE};

    pub(crate) type ThreadId = libc::pid_t;
    pub(crate) type Set = libc::cpu_set_t;

    pub(crate) fn this_thread() -> ThreadId {
        // SAFETY: only answers a number.
        unsafe { libc::gettid() }
    }

    /// The core that runs this.
    pub(crate) fn here() -> Core {
        // SAFETY: only answers a number; a negative one, of a system that does not know, is no core's.
        unsafe { libc::sched_getcpu() as Core }
    }

    /// Takes the calling thread to another core, if it may use one; whether it may.
    pub(crate) fn step_aside() -> bool {
        let all = bar_from_here(0);
        // Barred from the core that it ran on, it has left it.
        all.as_ref().map(restore).is_some()
    }

    /// Lets the calling thread run on these cores again.
    pub(crate) fn restore(cores: &Set) {
        confine(0, cores);
    }

    /// Lets a thread run on these cores only; 0 is the calling one. A refusal of the system changes nothing.
    fn confine(thread: ThreadId, cores: &Set) {
        // SAFETY: the set is whole, and is only read.
        unsafe { libc::sched_setaffinity(thread, size_of::<Set>(), cores) };
    }

    /// Bars a thread from the core that runs this, unless it may use no other; answers the cores that it could use
    /// before.
    pub(crate) fn bar_from_here(thread: ThreadId) -> Option<Set> {
        let core = here();
        if core == NOWHERE {
            return None;
        }
        // SAFETY: of plain bits, for which zeroes are good.
        let mut all: Set = unsafe { std::mem::zeroed() };
        // SAFETY: the set has that size, and the system writes nothing else.
        if unsafe { libc::sched_getaffinity(thread, size_of::<Set>(), &mut all) } != 0 {
            return None;
        }
        let mut others = all;
        // SAFETY: a core of the running system is within the set.
        let left = unsafe {
            libc::CPU_CLR(core as usize, &mut others);
            libc::CPU_COUNT(&others)
        };
        if left == 0 {
            return None;
        }
        confine(thread, &others);
        Some(all)
    }
}

#[cfg(all(test, target_os = "linux", not(any(miri, loom, mote_portable))))]
mod tests {
    use super::*;

    /// The cores that this thread may use.
    fn mine() -> Set {
        // SAFETY: of plain bits, for which zeroes are good; the system writes no more than its size.
        unsafe {
            let mut cores: Set = std::mem::zeroed();
            assert_eq!(libc::sched_getaffinity(0, size_of::<Set>(), &mut cores), 0);
            cores
        }
    }

    fn may_use(cores: &Set) -> bool {
        // SAFETY: only reads the sets.
        unsafe { libc::CPU_EQUAL(&mine(), cores) }
    }

    #[test]
    fn who_steps_aside_may_come_back() {
        let all = mine();
        step_aside();
        assert!(may_use(&all));
    }

    #[test]
    fn nobody_is_barred_from_the_only_core_it_may_use() {
        let all = mine();
        // SAFETY: as above, and a core of the running system is within the set.
        let only = unsafe {
            let mut only: Set = std::mem::zeroed();
            libc::CPU_SET(here() as usize, &mut only);
            only
        };
        restore(&only);
        assert!(bar_from_here(0).is_none() && !step_aside());
        assert!(may_use(&only));
        restore(&all);
    }
}

/// A system for models: a few threads with numbers that are not given again, each barred from a core or not.
#[cfg(loom)]
mod system {
    use super::{Core, NOWHERE};
    use crate::base::sync::{AcqRel, AtomicU64, AtomicUsize, Relaxed};

    pub(crate) type ThreadId = usize;
    pub(crate) struct Set;

    const RUNS: u64 = 0;
    const BARRED: u64 = 1;
    const ENDED: u64 = 2;

    loom::lazy_static! {
        static ref NEXT: AtomicUsize = AtomicUsize::new(0);
        static ref THREADS: [AtomicU64; 4] = std::array::from_fn(|_| AtomicU64::new(RUNS));
    }
    loom::thread_local! {
        static ME: ThreadId = NEXT.fetch_add(1, Relaxed);
    }

    pub(crate) fn this_thread() -> ThreadId {
        ME.with(|me| *me)
    }

    // AcqRel, also below: the system is asked by one thread after the other.
    pub(crate) fn restore(_: &Set) {
        THREADS[this_thread()].swap(RUNS, AcqRel);
    }

    pub(crate) fn bar_from_here(thread: ThreadId) -> Option<Set> {
        let was = THREADS[thread].swap(BARRED, AcqRel);
        assert_eq!(was, RUNS, "barred already, or ended");
        Some(Set)
    }

    pub(crate) fn here() -> Core {
        NOWHERE
    }

    pub(crate) fn step_aside() -> bool {
        false
    }

    /// Returns whether the calling thread is barred from a core.
    #[cfg(test)]
    pub(crate) fn is_barred() -> bool {
        THREADS[this_thread()].load(Relaxed) == BARRED
    }

    /// The calling thread is about to end.
    #[cfg(test)]
    pub(crate) fn end() {
        let was = THREADS[this_thread()].swap(ENDED, AcqRel);
        assert_eq!(was, RUNS, "ends barred");
    }
}

#[cfg(not(any(loom, all(target_os = "linux", not(any(miri, mote_portable))))))]
mod system {
    use super::{Core, NOWHERE};

    pub(crate) type ThreadId = ();
    pub(crate) struct Set;

    pub(crate) fn this_thread() {}

    pub(crate) fn restore(_: &Set) {}

    pub(crate) fn bar_from_here(_: ThreadId) -> Option<Set> {
        None
    }

    pub(crate) fn here() -> Core {
        NOWHERE
    }

    pub(crate) fn step_aside() -> bool {
        false
    }
}
