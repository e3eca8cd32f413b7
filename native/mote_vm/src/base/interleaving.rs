//! Threads that take turns at places of a test's choice: one runs at a time, and at each place chance decides which goes on.
//! The same seed gives the same order, so a fault that needs an unlikely moment is found soon, and found again.
//!
//! Outside of tests these places do nothing.

/// Other threads may act here. The caller holds no lock that they may want.
#[inline(always)]
pub(crate) fn others_may_act() {
    #[cfg(all(test, not(loom)))]
    seeded::pass();
}

#[cfg(all(test, not(loom)))]
pub(crate) use seeded::Interleaving;

#[cfg(all(test, not(loom)))]
mod seeded {
    use std::cell::RefCell;
    use std::sync::{Arc, Condvar, Mutex, MutexGuard};

    struct State {
        /// The thread whose turn it is.
        at: usize,
        /// Threads that have not left.
        here: Vec<usize>,
        random: u64,
        /// Number of places that were passed.
        passed: usize,
    }

    /// After this many, nothing will come of it: something is lost, or two wait for each other.
    const MOST_PASSED: usize = 200_000;

    /// See the head of this file.
    pub(crate) struct Interleaving {
        state: Mutex<State>,
        passed: Condvar,
    }

    /// A thread takes part as long as this lives.
    pub(crate) struct Taking(());

    thread_local! {
        static PART: RefCell<Option<(Arc<Interleaving>, usize)>> = const { RefCell::new(None) };
    }

    impl State {
        fn below(&mut self, n: usize) -> usize {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            (self.random >> 32) as usize % n
        }

        /// Chooses the thread whose turn is next, if anybody is left.
        fn choose(&mut self) {
            if !self.here.is_empty() {
                let many = self.here.len();
                let next = self.below(many);
                self.at = self.here[next];
            }
        }
    }

    impl Interleaving {
        /// Creates the interleaving of `threads` threads, which all come.
        pub(crate) fn new(seed: u64, threads: usize) -> Arc<Interleaving> {
            Arc::new(Interleaving {
                state: Mutex::new(State {
                    at: 0,
                    here: (0..threads).collect(),
                    random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
                    passed: 0,
                }),
                passed: Condvar::new(),
            })
        }

        /// Makes this thread take part, as the one of that number, from its first turn on.
        pub(crate) fn take_part(self: &Arc<Self>, number: usize) -> Taking {
            PART.set(Some((self.clone(), number)));
            drop(self.wait(self.state.lock().unwrap(), number));
            Taking(())
        }

        /// A number below `n`, by the thread whose turn it is.
        pub(crate) fn below(&self, n: usize) -> usize {
            self.state.lock().unwrap().below(n)
        }

        fn wait<'s>(&self, state: MutexGuard<'s, State>, number: usize) -> MutexGuard<'s, State> {
            self.passed
                .wait_while(state, |state| state.at != number)
                .unwrap()
        }

        fn pass(&self, number: usize) {
            let mut state = self.state.lock().unwrap();
            state.passed += 1;
            let passed = state.passed;
            if passed > MOST_PASSED {
                drop(state);
                panic!("nothing comes of it");
            }
            // Most places are passed by: long runs of one thread are as likely as short ones.
            if state.below(8) > 0 {
                return;
            }
            state.choose();
            self.passed.notify_all();
            drop(self.wait(state, number));
        }
    }

    pub(super) fn pass() {
        // Cloned: another thread's turn takes long.
        if let Some((all, number)) = PART.with_borrow(Clone::clone) {
            all.pass(number);
        }
    }

    impl Drop for Taking {
        fn drop(&mut self) {
            let Some((all, number)) = PART.take() else {
                return;
            };
            let mut state = all.state.lock().unwrap();
            state.here.retain(|one| *one != number);
            state.choose();
            all.passed.notify_all();
        }
    }
}
