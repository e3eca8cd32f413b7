//! Actors and customers of other nodes.
//!
//! The BEAM does not report a reference that leaves a node or comes to one. So a message between nodes lists its
//! references, each with a number, and the process that takes such messages in (lib/mote/far/porter.ex) puts a [`FarKey`]
//! in place of the key that holds the actor at home. When the far key ends, nothing here has the reference any more, and
//! its number is among those that the porter reports.
//!
//! Invariants:
//! 1. A far key has the bytes of the key that it stands for: so two terms of one address are equal, wherever they came from.
//! 2. A million keys may end at once. So each costs one number in a list, and only the first number that the porter has
//!    not taken yet costs a message.
use crate::held::handle::KEY_BYTES;
use crate::held::question::FarQuestion;
use crate::term::atoms::names;
use crate::term::own_term::OwnTerm;
use crate::term::resource::{Resource, ResourceArc};
use parking_lot::Mutex;
use rustler::{Env, LocalPid, Term};

/// The kind of target that a term of another node names.
#[derive(Clone, Copy)]
pub enum FarKind {
    /// An actor: the term is its `%Mote.Address{}`.
    Actor,
    /// A caller that waits: the term is its `%Mote.Customer{}`.
    Customer,
}

/// An actor or a customer of another node: its term.
pub struct Far {
    pub term: OwnTerm,
    /// The question, for a customer.
    pub question: Option<FarQuestion>,
}

/// The numbers of announcements that nothing here refers to any more, for a porter to report.
pub struct Dropped {
    porter: LocalPid,
    /// The numbers; none once the porter has ended.
    numbers: Mutex<Option<Vec<u64>>>,
}

impl Dropped {
    /// Starts with no numbers, for that porter.
    pub fn new(porter: LocalPid) -> Dropped {
        Dropped {
            porter,
            numbers: Mutex::new(Some(Vec::new())),
        }
    }

    fn add(&self, number: u64) {
        let mut numbers = self.numbers.lock();
        let Some(waiting) = numbers.as_mut() else {
            return;
        };
        waiting.push(number);
        let first = waiting.len() == 1;
        drop(numbers);
        if first && !self.wake() {
            *self.numbers.lock() = None;
        }
    }

    /// Wakes the porter. Returns whether it is there.
    fn wake(&self) -> bool {
        let message = OwnTerm::make(|env| Some(names::dropped().to_term(env)));
        message.is_some_and(|message| message.send(&self.porter))
    }

    /// Takes at most `at_most` of them. If there were as many, there may be more, and no message comes for these.
    pub fn take(&self, at_most: usize) -> Vec<u64> {
        let mut numbers = self.numbers.lock();
        let Some(waiting) = numbers.as_mut() else {
            return Vec::new();
        };
        let taken = waiting.split_off(waiting.len().saturating_sub(at_most));
        if waiting.is_empty() {
            waiting.shrink_to_fit();
        }
        taken
    }
}

impl Resource for Dropped {}

resource_type!(Dropped);

/// The announcement of an address or a customer by another node, held by the key binary that is made of it.
pub struct FarKey {
    dropped: ResourceArc<Dropped>,
    number: u64,
    content: [u8; KEY_BYTES],
}

impl FarKey {
    /// Makes the key binary with those bytes. Its end is reported by `dropped`.
    pub fn key<'a>(
        env: Env<'a>,
        content: [u8; KEY_BYTES],
        dropped: ResourceArc<Dropped>,
        number: u64,
    ) -> Term<'a> {
        let key = ResourceArc::new(FarKey {
            dropped,
            number,
            content,
        });
        key.binary(env, |key| &key.content)
    }
}

impl Resource for FarKey {}

resource_type!(FarKey);

impl Drop for FarKey {
    fn drop(&mut self) {
        self.dropped.add(self.number);
    }
}
