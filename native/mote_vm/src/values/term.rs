//! A value as it is shown to the outside: a [`Term`], whose type says where the value comes from. view.rs says what it is.
use super::actor::Actor;
use super::value::Value;
use crate::base::ids::BehaviourName;
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

/// The origin of a term: [`Committed`], or [`Staged`](crate::Staged) by a turn.
pub trait Origin<'m>: Copy + made::By<'m> {}

pub(crate) mod made {
    use super::Value;

    /// Keeps [`super::Origin`] to this crate.
    pub trait By<'m> {
        type Uncommitted: Into<super::Uncommitted<'m>>;

        /// Returns what the outside is shown in place of an address or a timer's reference, if that must not get out.
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

    /// Returns a number that tells it from the others of the same turn.
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

    /// Returns a number that tells it from others that are there at the same time.
    pub fn identity(self) -> usize {
        self.actor.addr()
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
    /// A term of a value, with its origin.
    #[inline(always)]
    pub(crate) fn of(value: Value, origin: O) -> Term<'m, O> {
        Term {
            value,
            origin,
            machine: PhantomData,
        }
    }

    #[inline(always)]
    pub(crate) fn value(self) -> Value {
        self.value
    }

    #[inline(always)]
    pub(crate) fn origin(self) -> O {
        self.origin
    }
}
