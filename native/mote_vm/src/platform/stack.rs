//! How much is left of the calling thread's stack.
//!
//! Invariants:
//! 1. The answer never exceeds what is left; it is `None` where the system does not say.

pub(crate) use system::left;

/// Reads the bounds of a thread's stack where the system tells them. Each thread asks for them once.
#[cfg(all(
    any(target_os = "linux", target_vendor = "apple"),
    not(any(miri, loom, mote_portable))
))]
mod system {
    use std::cell::Cell;

    thread_local! {
        /// The lowest address of it; 0 before it was asked for.
        static END: Cell<usize> = const { Cell::new(0) };
    }

    pub(crate) fn left() -> Option<usize> {
        let end = match END.get() {
            0 => end()?,
            end => end,
        };
        END.set(end);
        let here = (&raw const end).addr();
        here.checked_sub(end)
    }

    #[cfg(target_os = "linux")]
    #[cold]
    fn end() -> Option<usize> {
        let mut low = std::ptr::null_mut();
        let mut size = 0;
        // SAFETY: the attributes are initialised by the first call, if that succeeds, and destroyed after their use.
        unsafe {
            let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
            if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
                return None;
            }
            let known = libc::pthread_attr_getstack(&attributes, &mut low, &mut size) == 0;
            libc::pthread_attr_destroy(&mut attributes);
            known.then(|| low.addr())
        }
    }

    #[cfg(target_vendor = "apple")]
    #[cold]
    fn end() -> Option<usize> {
        // SAFETY: both only look at the calling thread, which there is.
        let (start, size) = unsafe {
            let me = libc::pthread_self();
            (
                libc::pthread_get_stackaddr_np(me).addr(),
                libc::pthread_get_stacksize_np(me),
            )
        };
        // Stacks grow downwards: that address is the highest one.
        start.checked_sub(size)
    }
}

/// Miri's own stack is none that a program could use up; so it sees standing in.
#[cfg(miri)]
mod system {
    pub(crate) fn left() -> Option<usize> {
        Some(4 << 20)
    }
}

#[cfg(not(any(
    miri,
    all(
        any(target_os = "linux", target_vendor = "apple"),
        not(any(loom, mote_portable))
    )
)))]
mod system {
    pub(crate) fn left() -> Option<usize> {
        None
    }
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests {
    use super::left;
    use std::hint::black_box;

    const BYTES: usize = 1 << 20;

    #[test]
    fn a_thread_has_no_more_left_than_it_was_given_and_less_the_deeper_it_is() {
        #[inline(never)]
        fn deeper() -> Option<usize> {
            let frame = black_box([0_u8; BYTES / 4]);
            // Called, so that what it asks about is below this frame and not somewhere in it.
            let answer = black_box(left as fn() -> Option<usize>)();
            black_box(&frame);
            answer
        }
        let thread = std::thread::Builder::new().stack_size(BYTES);
        let answers = thread.spawn(|| (left(), deeper())).unwrap().join().unwrap();
        let (Some(at_first), Some(below)) = answers else {
            assert_eq!(answers, (None, None));
            return;
        };
        // The system may add a few pages, of whatever size.
        assert!(at_first > BYTES / 2 && at_first < 2 * BYTES, "{at_first}");
        assert!(below <= at_first - BYTES / 4, "{below} of {at_first}");
    }
}
