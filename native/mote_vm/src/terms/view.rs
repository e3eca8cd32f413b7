//! Looking into values from outside of this crate.
//!
//! Invariants:
//! 1. The outside learns of no address of an actor that is not committed, or is certain to be: what an aborted turn has
//!    made is [`View::Uncommitted`] in all that is shown of it. The type of a term says whether there can be any.
use crate::base::atom::Atom;
use crate::boundary::timers::TimerId;
use crate::look::BehaviourName;
use crate::terms::map::{self, Node};
use crate::values::actor::Actor;
use crate::values::foreign::ForeignRef;
use crate::values::value::Value;
use std::convert::Infallible;
use std::marker::PhantomData;

/// A value borrowed from a machine for `'m`: during a delivery, or a look inside. Copying it out is the embedder's
/// work; it cannot be kept.
#[derive(Clone, Copy)]
pub struct Term<'m, O = Committed> {
    value: Value,
    origin: O,
    machine: PhantomData<&'m ()>,
}

/// Where a term comes from: [`Committed`], or [`Staged`](crate::Staged) by a turn.
pub trait Origin<'m>: Copy + made::By<'m> {}

pub(crate) mod made {
    use super::Value;

    /// Keeps [`super::Origin`] to this crate.
    pub trait By<'m> {
        type Uncommitted: Into<super::Uncommitted<'m>>;

        /// What the outside is shown in place of an address or a timer's reference, if that must not get out.
        fn uncommitted(self, value: Value) -> Option<Self::Uncommitted>;
    }
}

/// All that the term refers to is committed, or is being committed.
#[derive(Clone, Copy)]
pub struct Committed;

impl Origin<'_> for Committed {}

impl made::By<'_> for Committed {
    type Uncommitted = Infallible;

    #[inline(always)]
    fn uncommitted(self, _: Value) -> Option<Infallible> {
        None
    }
}

/// An actor or a timer of a turn that was aborted: there never was one.
#[derive(Clone, Copy)]
pub struct Uncommitted<'m> {
    cell: *const u8,
    behaviour: Option<BehaviourName>,
    turn: PhantomData<&'m ()>,
}

impl From<Infallible> for Uncommitted<'_> {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl Uncommitted<'_> {
    pub(crate) fn new(cell: *const u8, behaviour: Option<BehaviourName>) -> Self {
        Uncommitted {
            cell,
            behaviour,
            turn: PhantomData,
        }
    }

    /// What tells it from the others of the same turn.
    pub fn identity(self) -> usize {
        self.cell.addr()
    }

    /// The behaviour that the actor would have had; none of a timer.
    pub fn behaviour(self) -> Option<BehaviourName> {
        self.behaviour
    }
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

    /// What tells it from others that are there at the same time.
    pub fn identity(self) -> usize {
        self.actor.addr()
    }
}

/// One level of a term.
pub enum View<'m, O: Origin<'m> = Committed> {
    /// An integer of the fixnum range.
    Integer(i64),
    /// A finite float.
    Float(f64),
    /// An atom.
    Atom(Atom),
    /// `[]`
    EmptyList,
    /// `[head | tail]`
    Cons(Term<'m, O>, Term<'m, O>),
    /// A tuple of that many elements.
    Tuple(Tuple<'m, O>),
    /// A map.
    Map(Map<'m, O>),
    /// A binary in the heap; long ones are foreign.
    Bytes(&'m [u8]),
    /// A value of the outside.
    Foreign(&'m ForeignRef),
    /// An address that carries its sponsor.
    On(Term<'m, O>, Term<'m, O>),
    /// An actor's address.
    Address(ActorRef<'m>),
    /// A timer's reference.
    Timer(TimerId),
    /// An actor or a timer of an aborted turn.
    Uncommitted(O::Uncommitted),
}

/// The elements of a tuple.
#[derive(Clone, Copy)]
pub struct Tuple<'m, O = Committed>(&'m [Value], O);

impl<'m, O: Origin<'m>> Tuple<'m, O> {
    /// The elements in order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Term<'m, O>> + ExactSizeIterator {
        let origin = self.1;
        self.0.iter().map(move |value| Term::of(*value, origin))
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
pub struct Map<'m, O = Committed>(Node<'m>, O);

impl<'m, O: Origin<'m>> Map<'m, O> {
    /// Keys and values, in the order of the keys.
    pub fn iter(self) -> impl Iterator<Item = (Term<'m, O>, Term<'m, O>)> {
        let origin = self.1;
        let term = move |value| Term::of(value, origin);
        map::entries(self.0).map(move |(key, item)| (term(key), term(item)))
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
    #[inline(always)]
    pub(crate) fn new(value: Value) -> Term<'m> {
        Term::of(value, Committed)
    }
}

impl<'m, O: Origin<'m>> Term<'m, O> {
    /// The same of a value from elsewhere.
    #[inline(always)]
    pub(crate) fn of(value: Value, origin: O) -> Term<'m, O> {
        Term {
            value,
            origin,
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
    pub fn view(self) -> View<'m, O> {
        let Term { value, origin, .. } = self;
        let term = |value| Term::of(value, origin);
        if let Some(n) = value.as_fixnum() {
            View::Integer(n)
        } else if let Some(atom) = value.as_atom() {
            View::Atom(atom)
        } else if value == Value::EMPTY_LIST {
            View::EmptyList
        } else if let Some((head, tail)) = value.as_cons() {
            View::Cons(term(head), term(tail))
        } else if let Some(elements) = value.as_tuple() {
            View::Tuple(Tuple(elements, origin))
        } else if let Some(node) = Node::of(value) {
            View::Map(Map(node, origin))
        } else if let Some(f) = value.as_float() {
            View::Float(f)
        } else if value.is_address() {
            match origin.uncommitted(value) {
                Some(undone) => View::Uncommitted(undone),
                None => View::Address(ActorRef::new(value.address_pointer())),
            }
        } else if let Some((sponsor, address)) = value.as_on() {
            View::On(term(sponsor), term(address))
        } else if let Some(timer) = value.as_timer() {
            match origin.uncommitted(value) {
                Some(undone) => View::Uncommitted(undone),
                None => View::Timer(timer),
            }
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
