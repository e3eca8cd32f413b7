//! The value of a future. deliver/future_value.rs fills it.
use crate::held::aside::aside;
use crate::held::question::Customer;
use crate::held::reason::Reason;
use crate::term::atoms::names;
use crate::term::own_term::OwnTerm;
use crate::term::resource::ResourceArc;
use mote_vm::boundary::outbox::Letters;
use parking_lot::Mutex;

/// The content of a future.
pub enum Content {
    /// Nothing yet; these wait for it.
    Open(Vec<ResourceArc<Customer>>),
    /// The answer, small and plain. It is in a letter, because an environment costs more than all the rest of a future.
    Plain(Letters<OwnTerm>),
    /// Any other answer, and whether it is large.
    Value(OwnTerm, bool),
    /// There is none, and why.
    Failed(Reason),
}

/// The place of a future's answer. It is filled once, by the caller that has claimed the question.
pub struct FutureValue {
    pub content: Mutex<Content>,
    /// True if the future is the call of a function, which is a single turn.
    pub is_call: bool,
}

impl FutureValue {
    pub fn new(is_call: bool) -> FutureValue {
        FutureValue {
            content: Mutex::new(Content::Open(Vec::new())),
            is_call,
        }
    }

    /// Returns whether it was killed; `dropped` says whether nobody refers to it any more. Never waits: if somebody else looks at the
    /// same moment, the next call finds out.
    pub fn is_killed(&self, dropped: bool) -> bool {
        match self.content.try_lock().as_deref() {
            Some(Content::Failed(Reason::Word(word))) => *word == names::killed(),
            Some(Content::Open(_)) => self.is_call && dropped,
            _ => false,
        }
    }

    /// Fills it. Returns the customers that wait, to be notified. Nobody holds the lock for longer than that takes: a large answer is
    /// copied without the lock, because normal schedulers look at it.
    #[must_use]
    pub fn fill(&self, content: Content) -> Vec<ResourceArc<Customer>> {
        match std::mem::replace(&mut *self.content.lock(), content) {
            Content::Open(waiting) => waiting,
            _ => Vec::new(),
        }
    }
}

impl Drop for FutureValue {
    fn drop(&mut self) {
        let content = std::mem::replace(self.content.get_mut(), Content::Open(Vec::new()));
        if let Content::Value(_, true) = content {
            aside(move || drop(content));
        }
    }
}
