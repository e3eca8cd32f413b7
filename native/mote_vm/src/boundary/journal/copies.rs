//! How far a copy of a journal is that is kept in another place, and waiting for it.
//!
//! Invariants:
//! 1. While a copy is waited for, the thread of the machine passes [`JournalCopy::is_behind`] only with what the copy has: nothing else is
//!    acknowledged, or told by a turn.
//! 2. Whoever asks for what comes after a place is called once, when there is more, and dropped if that is not to be.
use super::DurableWaiter;
use parking_lot::{Condvar, Mutex};
use std::time::Duration;

/// A place in the journals of a machine: a number, and bytes of the file with that number.
pub type JournalEnd = (u64, u64);

/// The longest time between two looks whether to wait on.
const LOOK: Duration = Duration::from_millis(50);

/// The copy of a journal.
#[derive(Default)]
pub(crate) struct JournalCopy {
    state: Mutex<CopyState>,
    moved: Condvar,
}

#[derive(Default)]
struct CopyState {
    /// The end of the journal.
    written: JournalEnd,
    /// The end of the copy, while somebody waits for it.
    reached: Option<JournalEnd>,
    more: Option<DurableWaiter>,
}

impl JournalCopy {
    /// Notes where the journal ends now.
    pub(crate) fn written(&self, end: JournalEnd) {
        let mut state = self.state.lock();
        state.written = end;
        let more = state.more.take();
        drop(state);
        if let Some(more) = more {
            more();
        }
    }

    /// Calls `more` when the journal ends behind that place, which may be at once.
    pub(crate) fn when_more(&self, place: JournalEnd, more: DurableWaiter) {
        let mut state = self.state.lock();
        if state.written > place {
            drop(state);
            more();
        } else {
            let before = state.more.replace(more);
            drop(state);
            drop(before);
        }
    }

    /// Says where the copy ends, or that it is not waited for any more.
    pub(crate) fn reached(&self, end: Option<JournalEnd>) {
        self.state.lock().reached = end;
        self.moved.notify_all();
    }

    /// Returns whether the copy is waited for, after waiting for a moment if it is.
    pub(crate) fn is_behind(&self) -> bool {
        let mut state = self.state.lock();
        let is_behind = |state: &CopyState| state.reached.is_some_and(|end| end < state.written);
        if is_behind(&state) {
            self.moved.wait_for(&mut state, LOOK);
        }
        is_behind(&state)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::sync::Arc;

    #[test]
    fn who_asks_for_more_is_called_once() {
        let copy = JournalCopy::default();
        let calls = Arc::new(AtomicUsize::new(0));
        let ask = |place| {
            let calls = calls.clone();
            let more = move || {
                calls.fetch_add(1, Relaxed);
            };
            copy.when_more(place, Box::new(more));
        };
        copy.written((1, 100));
        ask((1, 50));
        assert_eq!(calls.load(Relaxed), 1);
        ask((1, 100));
        assert_eq!(calls.load(Relaxed), 1);
        copy.written((2, 10));
        copy.written((2, 20));
        assert_eq!(calls.load(Relaxed), 2);
    }

    #[test]
    fn a_copy_is_waited_for_until_it_has_all() {
        let copy = JournalCopy::default();
        copy.written((1, 100));
        assert!(!copy.is_behind());
        copy.reached(Some((1, 99)));
        assert!(copy.is_behind());
        copy.written((2, 10));
        copy.reached(Some((1, 100)));
        assert!(copy.is_behind());
        copy.reached(Some((2, 10)));
        assert!(!copy.is_behind());
        copy.written((2, 11));
        copy.reached(None);
        assert!(!copy.is_behind());
    }
}
