//! Looking into values from outside of this crate.
//!
//! Invariants:
//! 1. The outside only sees addresses of actors that are committed, or are certain to be: an actor that an aborted turn has made
//!    is [`View::Uncommitted`] wherever the turn is shown. The type of a term says whether there can be any.
use crate::base::atom::Atom;
use crate::base::ids::TimerId;
use crate::terms::map::{self, Node};
use crate::values::big::Big;
use crate::values::bits::Bits;
use crate::values::foreign::ForeignRef;
use crate::values::term::{ActorRef, Committed, Origin, Term};
use crate::values::value::Value;

/// One level of a term.
pub enum View<'m, O: Origin<'m> = Committed> {
    /// An integer of the fixnum range.
    Integer(i64),
    /// Any other integer that can be calculated with.
    Big(Big<'m>),
    /// A finite float.
    Float(f64),
    /// An atom.
    Atom(Atom),
    /// `[]`
    EmptyList,
    /// `[head | tail]`
    Cons(Term<'m, O>, Term<'m, O>),
    /// A tuple.
    Tuple(Tuple<'m, O>),
    /// A map.
    Map(Map<'m, O>),
    /// A binary in the heap; long ones are foreign.
    Bytes(&'m [u8]),
    /// A bitstring that is no binary.
    Bits(Bits<'m>),
    /// A value of the outside.
    Foreign(&'m ForeignRef),
    /// A function of the language.
    Function(FunctionTerm<'m, O>),
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

    /// Returns the number of elements.
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// Returns whether it is `{}`.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}

/// A function (code/functions.rs) with its captures.
pub struct FunctionTerm<'m, O = Committed> {
    /// The module and name of the function in its unit.
    pub module: Atom,
    /// See `module`.
    pub name: Atom,
    /// The number of its arguments.
    pub arity: u32,
    /// The hash of the unit.
    pub version: u64,
    /// Its captures.
    pub captures: Tuple<'m, O>,
}

impl<'m, O: Origin<'m>> FunctionTerm<'m, O> {
    fn of(parts: &'m [Value], origin: O) -> Self {
        let what = parts[0].as_tuple().unwrap_or(&[]);
        let atom = |at: usize| what.get(at).and_then(|part| part.as_atom());
        let number = |at: usize| what.get(at).and_then(|part| part.as_fixnum());
        FunctionTerm {
            module: atom(0).unwrap_or(Atom::NIL),
            name: atom(1).unwrap_or(Atom::NIL),
            arity: number(2).unwrap_or(0) as u32,
            version: number(3).unwrap_or(0) as u64,
            captures: Tuple(&parts[1..], origin),
        }
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

    /// Returns the number of entries.
    pub fn len(self) -> usize {
        self.0.size
    }

    /// Returns whether it is `%{}`.
    pub fn is_empty(self) -> bool {
        self.0.size == 0
    }
}

impl<'m, O: Origin<'m>> Term<'m, O> {
    /// The value of the outside that a binary is part of.
    pub fn whole(self) -> Option<&'m ForeignRef> {
        if !self.value().is_boxed() {
            return None;
        }
        self.value().sliced()?.as_foreign()
    }

    /// The elements of a tuple that holds nothing but immediates.
    #[inline(always)]
    pub(crate) fn row(self) -> Option<&'m [Value]> {
        let elements = self.value().as_tuple()?;
        let plain = |value: &Value| value.is_immediate();
        elements.iter().all(plain).then_some(elements)
    }

    /// Returns one level of the term.
    pub fn view(self) -> View<'m, O> {
        let (value, origin) = (self.value(), self.origin());
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
        } else if let Some(big) = value.as_big() {
            View::Big(big)
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
        } else if let Some(bits) = value.as_bitstring() {
            View::Bits(bits)
        } else if let Some(parts) = value.as_function() {
            View::Function(FunctionTerm::of(parts, origin))
        } else {
            // NONE is not a value and never leaves a turn; being total costs nothing here.
            View::Atom(Atom::UNDEFINED)
        }
    }
}
