//! The words that native code and its helpers exchange in a turn.
use crate::values::value::Value;
use std::any::Any;

/// The reason why native code stopped in the middle of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Stop {
    /// The turn is aborted, for [`Halt::reason`].
    Aborted = 0,
    /// Something has no native code yet: the interpreter is to run the turn.
    NotReady = 1,
    /// Something has no native code and never will have any: the interpreter is to run the turn.
    Never = 2,
    /// A helper panicked; [`Halt::payload`] has what it said.
    Panicked = 3,
}

/// The stop of native code and its helpers in the middle of a turn, as they leave it behind.
pub(crate) struct Halt {
    pub(crate) stop: Stop,
    pub(crate) reason: Value,
    pub(crate) payload: Option<Box<dyn Any + Send>>,
}

/// The words by which native code and its helpers talk.
pub(crate) struct Exchange {
    /// A question of native code to a helper, through a stub, and the helper's answer (helpers.rs).
    pub(crate) asked: [u64; 4],
    pub(crate) answer: u64,
    /// Number of protected calls that native code is in. The interpreter runs a turn again that fails in one.
    pub(crate) protected: u64,
    pub(crate) halt: Halt,
}

impl Default for Exchange {
    fn default() -> Exchange {
        Exchange {
            asked: [0; 4],
            answer: 0,
            protected: 0,
            halt: Halt {
                stop: Stop::Aborted,
                reason: Value::NONE,
                payload: None,
            },
        }
    }
}
