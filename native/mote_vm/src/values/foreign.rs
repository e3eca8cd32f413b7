//! Values that the machine can carry and deliver to, but not look into.
//!
//! Invariants:
//! 1. A value is charged with what it keeps outside of all heaps ([`Foreign::outside`]) wherever it is: in a heap, in a
//!    parcel that waits, in a timer's message; once in each. That number never changes while the value lives. What an embedder
//!    charges itself, once for all that carry it, is not part of it.
use crate::base::atom::Atom;
use crate::base::ids::TimerId;
use crate::values::handles::{Held, Key};
use crate::values::term::{ActorRef, Term};
use crate::values::value::Value;
use std::any::Any;
use std::cmp::Ordering;
use std::sync::Arc;

/// The kind of a foreign value, for type tests and for the order of all terms. The numbers are those of units.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Class {
    /// An integer that is too large to calculate with.
    BigInteger = 0,
    /// A reference.
    Reference = 1,
    /// A function.
    Function = 2,
    /// A port.
    Port = 3,
    /// A process outside.
    Pid = 4,
    /// A map.
    Map = 5,
    /// A binary too long to live in the heap.
    Binary = 7,
    /// An address that is neither an actor of this machine nor a process: an actor of another machine, a customer.
    Address = 8,
    /// A timer of another machine.
    Timer = 9,
}

impl Class {
    /// The class of that number.
    pub fn from_number(n: u8) -> Option<Class> {
        use Class::*;
        [
            BigInteger, Reference, Function, Port, Pid, Map, Binary, Address, Timer,
        ]
        .into_iter()
        .find(|class| *class as u8 == n)
    }

    /// Returns whether a constant of a unit can be of this class.
    pub(crate) fn is_of_constants(self) -> bool {
        self as u8 <= Class::Map as u8
    }
}

/// The fate of a message to the outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// It was handed over.
    Done,
    /// Nobody is there any more.
    Dead,
    /// There is no room for it.
    Full,
    /// This value takes no messages at all.
    NoAddress,
}

/// A message to something that is not simply an actor: a process, a customer, a reference with a sponsor.
pub(crate) struct Outgoing {
    pub(crate) sponsor: Value,
    pub(crate) target: Value,
    pub(crate) message: Value,
}

/// Messages of one turn, in their order.
pub struct Messages<'m>(pub(crate) std::slice::Iter<'m, Outgoing>);

impl<'m> Iterator for Messages<'m> {
    type Item = Term<'m>;

    #[inline]
    fn next(&mut self) -> Option<Term<'m>> {
        self.0.next().map(|outgoing| Term::new(outgoing.message))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for Messages<'_> {}

/// The machine whose turn has sent a message, as far as its way out needs one.
pub trait Carrier {
    /// Returns the value that the embedder gave the machine at its start.
    fn embedder(&self) -> &dyn Any;
    /// A handle of an actor seen in a term. The caller owns it.
    fn acquire(&self, actor: ActorRef<'_>) -> Key;
    /// The actor of a handle, held for the moment; `None` when the handle belongs to another machine.
    fn hold(&self, key: Key) -> Option<Held>;
    /// The hash of the loaded unit of a module.
    fn module(&self, module: Atom) -> Option<u64>;
    /// Notes that `messages` messages wait outside to be delivered. Until they have left, the machine is not quiet.
    fn leaving(&self, messages: usize);
    /// Notes that `messages` messages have left. `undelivered` of them, which had been counted as delivered, found nobody.
    fn have_left(&self, messages: usize, undelivered: u64);
}

/// The places of a sponsor that what waits there takes, as far as a receiver that holds messages takes them.
pub trait HeldPlaces: Send + Sync {
    /// Takes `n` places, whether there are any or not.
    fn add_held(&self, n: usize);
    /// Returns `n` of them. Callers that wait for room are called.
    fn give_held(self: Arc<Self>, n: usize);
}

/// A receiver that refuses no message of a committed turn, and holds what its reader has not taken.
pub trait HoldingReceiver {
    /// Returns the bytes that there is memory for.
    fn memory_left(&self) -> usize;
    /// Counts what has just been sent to it, as far as it is held, among what waits there.
    fn count_held(&self, places: Arc<dyn HeldPlaces>);
}

/// A value of the outside. Shared by every heap cell and parcel that carries it; dropped with the last.
pub trait Foreign: Any + Send + Sync {
    /// Its class.
    fn class(&self) -> Class;
    /// Returns whether `deliver` can ever succeed.
    fn is_address(&self) -> bool {
        false
    }
    /// Returns whether somebody outside sees what is in a message to it, the addresses above all.
    fn shows(&self, _message: Term<'_>) -> bool {
        true
    }
    /// Takes a message of a committed turn. Runs on a dispatch thread and must not block.
    fn deliver(&self, _message: Term<'_>, _machine: &dyn Carrier) -> Delivery {
        Delivery::NoAddress
    }
    /// Delivers several messages of one turn, in their order: what became of how many goes to `told`.
    fn deliver_all(
        &self,
        messages: Messages<'_>,
        machine: &dyn Carrier,
        told: &mut dyn FnMut(Delivery, u64),
    ) {
        messages.for_each(|message| told(self.deliver(message, machine), 1));
    }
    /// Delivers one message to processes, in their order, the first of which this is: what became of how many goes to `told`.
    fn deliver_to_each(
        &self,
        targets: &mut dyn Iterator<Item = &ForeignRef>,
        message: Term<'_>,
        machine: &dyn Carrier,
        told: &mut dyn FnMut(Delivery, u64),
    ) {
        targets.for_each(|target| told(target.deliver(message, machine), 1));
    }
    /// A message to it is not delivered, for written out it is larger than the memory of the machine. Runs on a dispatch thread
    /// and must not block.
    fn too_large(&self, _machine: &dyn Carrier) {}
    /// Returns the receiver, if it is one that refuses no message. A turn that sends it more than it has memory for is aborted.
    fn holding(&self) -> Option<&dyn HoldingReceiver> {
        None
    }
    /// Returns the same address, but carrying that sponsor; `None` if it has no sponsor to choose.
    fn on(&self, _sponsor: Atom) -> Option<ForeignRef> {
        None
    }
    /// Fires that timer of the machine when the process has ended, if it is one; also one that has ended before. Runs on a dispatch
    /// thread and must not block.
    fn watch(&self, _timer: TimerId, _machine: &dyn Carrier) {}
    /// Cancels the timer of another machine, if it is one. Runs on a dispatch thread and must not block.
    fn cancel_timer(&self) {}
    /// Returns how programs of the embedder show it; `None` of a value that is more than a name.
    fn text(&self) -> Option<String> {
        None
    }
    /// The order among foreign values of the same class; `Equal` is Elixir's `===`.
    fn compare(&self, other: &dyn Foreign) -> Ordering;
    /// The order of a big integer against a float.
    fn compare_float(&self, _f: f64) -> Ordering {
        Ordering::Greater
    }
    /// Returns whether a big integer is negative.
    fn is_negative(&self) -> bool {
        false
    }
    /// Returns the number of arguments of a function.
    fn arity(&self) -> Option<i64> {
        None
    }
    /// The bytes of a binary.
    fn bytes(&self) -> Option<&[u8]> {
        None
    }
    /// Puts other bytes into a binary that nobody else has. Returns those that it had, if they can be used again.
    fn put_bytes(&mut self, _bytes: Vec<u8>) -> Option<Vec<u8>> {
        None
    }
    /// About how many bytes it keeps outside of all heaps, what [`CARRIED`] stands for included.
    fn external_bytes(&self) -> usize {
        CARRIED + self.bytes().map_or(0, <[u8]>::len)
    }
    /// About how many bytes live on because of it: also those that it is not charged with itself, since others keep them too.
    fn kept_bytes(&self) -> usize {
        self.external_bytes()
    }
}

impl dyn Foreign {
    /// Lets the embedder get at its own type.
    pub fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A shared foreign value.
pub type ForeignRef = Arc<dyn Foreign>;

/// Bytes that any foreign value takes outside of its cell: its counts, the reference in the cell, and a place in the list of
/// those that are to be dropped.
pub const CARRIED: usize = 96;

/// Returns the number of bytes of a binary; 0 for anything else.
pub fn length(value: &ForeignRef) -> usize {
    value.bytes().map_or(0, <[u8]>::len)
}

/// Bytes kept outside of the heap because they are many.
pub struct LongBytes(pub Box<[u8]>);

impl Foreign for LongBytes {
    fn class(&self) -> Class {
        Class::Binary
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        self.bytes().cmp(&other.bytes())
    }
    fn bytes(&self) -> Option<&[u8]> {
        Some(&self.0)
    }
    fn put_bytes(&mut self, bytes: Vec<u8>) -> Option<Vec<u8>> {
        Some(std::mem::replace(&mut self.0, bytes.into()).into_vec())
    }
}
