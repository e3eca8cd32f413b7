//! The answer to a call, that is to a process that asks and waits at once.
//!
//! An answer that comes while the call itself runs the turn is returned by it (deliver/at_once.rs). Otherwise the call ends
//! without one, and its process begins to wait for a message, with a tag that it makes just then.
//!
//! Invariant: an answer that comes in between is kept here. Under the lock there is either the tag, and the answer becomes a
//! message, or the answer, and the process that brings the tag takes it.
use crate::term::assembly::Assembled;
use crate::term::atoms::names;
use crate::term::own_term::OwnTerm;
use parking_lot::Mutex;
use rustler::{Encoder, Env, Term};

/// The meaning of a term that ends a question.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// The answer.
    Answer,
    /// The reason why there is no answer.
    Failed,
}

impl CallOutcome {
    /// Returns the result of the call.
    pub fn returned<'a>(self, env: Env<'a>, term: Term<'a>) -> Term<'a> {
        match self {
            CallOutcome::Answer => (names::ok(), term).encode(env),
            CallOutcome::Failed => (names::failed(), term).encode(env),
        }
    }

    /// Makes the message to a process that waits for one.
    pub fn message<'a>(self, env: Env<'a>, tag: Term<'a>, term: Term<'a>) -> Term<'a> {
        match self {
            CallOutcome::Answer => (tag, term).encode(env),
            CallOutcome::Failed => (tag, names::failed(), term).encode(env),
        }
    }
}

/// An answer that came before the process waited.
pub struct Early {
    pub outcome: CallOutcome,
    pub term: Assembled,
    /// True if it takes long to copy.
    pub is_large: bool,
}

impl Early {
    /// The message to the process that waits with that tag.
    pub fn tagged(self, tag: &OwnTerm) -> Assembled {
        let outcome = self.outcome;
        self.term
            .extended(|env, term| outcome.message(env, tag.to(env), term))
    }
}

#[derive(Default)]
enum Stage {
    /// There is neither tag nor answer.
    #[default]
    Begun,
    Answered(Early),
    Waits(OwnTerm),
    /// The answer was taken.
    Over,
}

/// The answer of one call, as far as it has come. Nobody holds the lock for longer than it takes to move a few words.
#[derive(Default)]
pub struct Call(Mutex<Stage>);

impl Call {
    /// The tag of the message, if the process waits for one.
    pub fn tag(&self) -> Option<OwnTerm> {
        match &*self.0.lock() {
            Stage::Waits(tag) => Some(tag.clone()),
            _ => None,
        }
    }

    /// Keeps an answer that has come. Returns it, with the tag, if the process waits by now.
    pub fn keep(&self, early: Early) -> Option<(OwnTerm, Early)> {
        let mut stage = self.0.lock();
        if let Stage::Waits(tag) = &*stage {
            return Some((tag.clone(), early));
        }
        *stage = Stage::Answered(early);
        None
    }

    /// Makes the process wait for a message with that tag. Returns an answer that came before, if there is one.
    pub fn wait(&self, tag: OwnTerm) -> Option<Early> {
        let mut stage = self.0.lock();
        match std::mem::replace(&mut *stage, Stage::Over) {
            Stage::Answered(early) => Some(early),
            _ => {
                *stage = Stage::Waits(tag);
                None
            }
        }
    }
}
