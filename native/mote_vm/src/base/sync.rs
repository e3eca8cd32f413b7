//! The synchronisation primitives that the protocols are written with: the real ones, or loom's under `--cfg loom`.
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{
    fence, AtomicBool, AtomicIsize, AtomicU16, AtomicU64, AtomicUsize,
    Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst},
};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{
    fence, AtomicBool, AtomicIsize, AtomicU16, AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
};

/// Keeps what follows behind the step by which this thread has just changed a word that others change: a full fence. Each such step of
/// an x86 is one itself, a compare-and-swap that fails included.
#[inline(always)]
pub(crate) fn fence_behind_step() {
    if cfg!(all(target_arch = "x86_64", not(any(loom, miri)))) {
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    } else {
        fence(SeqCst);
    }
}

#[cfg(not(loom))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};

#[cfg(loom)]
pub(crate) use modelled::{Condvar, Mutex, MutexGuard, RwLock};

/// Loom's locks with the interface of the real ones, which know no poisoning.
#[cfg(loom)]
mod modelled {
    use std::ops::{Deref, DerefMut};
    use std::time::Duration;

    #[derive(Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard {
                of: self,
                inner: Some(self.0.lock().unwrap()),
            }
        }
    }

    /// `inner` is there but for the time in which the lock is let go of.
    pub(crate) struct MutexGuard<'a, T> {
        of: &'a Mutex<T>,
        inner: Option<loom::sync::MutexGuard<'a, T>>,
    }

    impl<T> MutexGuard<'_, T> {
        pub(crate) fn unlocked<R>(guard: &mut Self, act: impl FnOnce() -> R) -> R {
            guard.inner = None;
            let answer = act();
            guard.inner = Some(guard.of.0.lock().unwrap());
            answer
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;
        fn deref(&self) -> &T {
            self.inner.as_ref().unwrap()
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.inner.as_mut().unwrap()
        }
    }

    /// Readers keep each other out as well: nothing that is modelled depends on it.
    #[derive(Default)]
    pub(crate) struct RwLock<T>(Mutex<T>);

    impl<T> RwLock<T> {
        pub(crate) fn new(value: T) -> RwLock<T> {
            RwLock(Mutex::new(value))
        }

        pub(crate) fn read(&self) -> MutexGuard<'_, T> {
            self.0.lock()
        }

        pub(crate) fn write(&self) -> MutexGuard<'_, T> {
            self.0.lock()
        }
    }

    #[derive(Default)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let inner = guard.inner.take().unwrap();
            guard.inner = Some(self.0.wait(inner).unwrap());
        }

        /// Waits for nothing: loom knows no time, so a moment may pass, or not.
        pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _moment: Duration) {
            MutexGuard::unlocked(guard, loom::thread::yield_now);
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

/// Threads that park, and are unparked.
pub(crate) mod thread {
    #[cfg(loom)]
    pub(crate) use loom::thread::{current, park, Thread};
    #[cfg(not(loom))]
    pub(crate) use std::thread::{current, park, park_timeout, Thread};

    /// Loom knows no time: it may be over at once.
    #[cfg(loom)]
    pub(crate) fn park_timeout(_moment: std::time::Duration) {
        loom::thread::yield_now();
    }
}

/// Something that some threads write to while others read or write what lies beside it: on cache lines of its own, in pairs
/// as they are fetched.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct CachePadded<T>(pub(crate) T);

impl<T> std::ops::Deref for CachePadded<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// One step of waiting for another thread that is about to finish.
pub(crate) fn pause() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    std::thread::yield_now();
}
