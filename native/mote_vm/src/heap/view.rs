//! Looking into values from outside of this crate.
use crate::actor::Actor;
use crate::atom::Atom;
use crate::foreign::ForeignRef;
use crate::map::{self, Node};
use crate::timers::TimerId;
use crate::value::Value;
use std::marker::PhantomData;

/// A value borrowed from a machine for `'m`: during a delivery, or a look inside. Copying it out is the embedder's
/// work; it cannot be kept.
#[derive(Clone, Copy)]
pub struct Term<'m> {
    value: Value,
    machine: PhantomData<&'m ()>,
}

/// An actor seen from outside: good only for asking the machine for a handle.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ActorRef<'m> {
    pub(crate) actor: *const Actor,
    machine: PhantomData<&'m ()>,
}

impl ActorRef<'_> {
    /// The caller vouches that the actor is alive for the lifetime.
    pub(crate) fn new(actor: *const Actor) -> Self {
        ActorRef {
            actor,
            machine: PhantomData,
        }
    }
}

/// One level of a term.
pub enum View<'m> {
    /// An integer of the fixnum range.
    Integer(i64),
    /// A finite float.
    Float(f64),
    /// An atom.
    Atom(Atom),
    /// `[]`
    EmptyList,
    /// `[head | tail]`
    Cons(Term<'m>, Term<'m>),
    /// A tuple of that many elements.
    Tuple(Tuple<'m>),
    /// A map.
    Map(Map<'m>),
    /// A binary in the heap; long ones are foreign.
    Bytes(&'m [u8]),
    /// A value of the outside.
    Foreign(&'m ForeignRef),
    /// An address that carries its sponsor.
    On(Term<'m>, Term<'m>),
    /// An actor's address.
    Address(ActorRef<'m>),
    /// A timer's reference.
    Timer(TimerId),
}

/// The elements of a tuple.
#[derive(Clone, Copy)]
pub struct Tuple<'m>(&'m [Value]);

impl<'m> Tuple<'m> {
    /// The elements in order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Term<'m>> + ExactSizeIterator {
        self.0.iter().map(|value| Term::new(*value))
    }

    /// How many.
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// Whether it is `{}`.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}

/// The entries of a map.
#[derive(Clone, Copy)]
pub struct Map<'m>(Node<'m>);

impl<'m> Map<'m> {
    /// Keys and values, in the order of the keys.
    pub fn iter(self) -> impl Iterator<Item = (Term<'m>, Term<'m>)> {
        map::entries(self.0).map(|(key, item)| (Term::new(key), Term::new(item)))
    }

    /// How many.
    pub fn len(self) -> usize {
        self.0.size
    }

    /// Whether it is `%{}`.
    pub fn is_empty(self) -> bool {
        self.0.size == 0
    }
}

impl<'m> Term<'m> {
    /// The caller vouches that the value's heap outlives `'m`.
    pub(crate) fn new(value: Value) -> Term<'m> {
        Term {
            value,
            machine: PhantomData,
        }
    }

    /// The value of the outside that a binary is part of.
    pub fn whole(self) -> Option<&'m ForeignRef> {
        if !self.value.is_boxed() {
            return None;
        }
        self.value.sliced()?.as_foreign()
    }

    /// The elements of a tuple that holds nothing but immediates.
    #[inline(always)]
    pub(crate) fn row(self) -> Option<&'m [Value]> {
        let elements = self.value.as_tuple()?;
        let plain = |value: &Value| value.is_immediate();
        elements.iter().all(plain).then_some(elements)
    }

    /// What it is.
    pub fn view(self) -> View<'m> {
        let value = self.value;
        if let Some(n) = value.as_fixnum() {
            View::Integer(n)
        } else if let Some(atom) = value.as_atom() {
            View::Atom(atom)
        } else if value == Value::EMPTY_LIST {
            View::EmptyList
        } else if let Some((head, tail)) = value.as_cons() {
            View::Cons(Term::new(head), Term::new(tail))
        } else if let Some(elements) = value.as_tuple() {
            View::Tuple(Tuple(elements))
        } else if let Some(node) = Node::of(value) {
            View::Map(Map(node))
        } else if let Some(f) = value.as_float() {
            View::Float(f)
        } else if value.is_address() {
            View::Address(ActorRef::new(value.address_pointer()))
        } else if let Some((sponsor, address)) = value.as_on() {
            View::On(Term::new(sponsor), Term::new(address))
        } else if let Some(timer) = value.as_timer() {
            View::Timer(timer)
        } else if let Some(foreign) = value.as_foreign() {
            View::Foreign(foreign)
        } else if let Some(bytes) = value.as_bytes() {
            View::Bytes(bytes)
        } else {
            // NONE is no value and never leaves a turn; being total costs nothing here.
            View::Atom(Atom::UNDEFINED)
        }
    }
}
