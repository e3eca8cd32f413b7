//! What native code and its helpers tell each other in a turn.
use crate::values::value::Value;
use std::any::Any;

/// Why native code stopped in the middle of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Stop {
    /// The turn is aborted, for [`Halt::reason`].
    Aborted = 0,
    /// Something has no native code yet: the interpreter is to run the turn.
    NotReady = 1,
    /// As above, and it never will have.
    Never = 2,
    /// A helper panicked; [`Halt::payload`] has what it said.
    Panicked = 3,
}

/// What native code and its helpers leave behind when they stop in the middle of a turn.
pub(crate) struct Halt {
    pub(crate) stop: Stop,
    pub(crate) reason: Value,
    pub(crate) payload: Option<Box<dyn Any + Send>>,
}

/// The words by which native code and its helpers talk.
pub(crate) struct Exchange {
    /// What native code asks a helper for through a stub, and what that has answered (helpers.rs).
    pub(crate) asked: [u64; 4],
    pub(crate) answer: u64,
    pub(crate) halt: Halt,
}

impl Default for Exchange {
    fn default() -> Exchange {
        Exchange {
            asked: [0; 4],
            answer: 0,
            halt: Halt {
                stop: Stop::Aborted,
                reason: Value::NONE,
                payload: None,
            },
        }
    }
}
