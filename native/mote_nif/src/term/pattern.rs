//! Patterns of messages: terms of atoms, numbers, binaries, tuples and lists, where `:_` stands for anything.
//!
//! Invariant: a pattern has no term in it. It is matched again and again, and looking into a term may take memory that is freed
//! only with its environment.
use crate::term::atoms::{self, names};
use crate::term::read::{integer, list_cell, small_integer, tuple_elements};
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::values::value::{FIXNUM_MAX, FIXNUM_MIN};
use mote_vm::{Term as VmTerm, View};
use rustler::{Binary, Term, TermType};

/// A part of a pattern: a tuple and a list's cell before what is in them.
enum PatternPart {
    Anything,
    Atom(VmAtom),
    Integer(i64),
    /// The sign, and the limbs.
    Big(bool, Vec<u64>),
    /// An integer that is too large to calculate with.
    Beyond,
    Float(f64),
    Bytes(Box<[u8]>),
    Tuple(usize),
    EmptyList,
    Cell,
}

/// A pattern, taken apart. It holds no term.
pub struct Pattern(Vec<PatternPart>);

impl Pattern {
    /// The pattern that a term is, if it is one.
    pub fn of(term: Term<'_>) -> Option<Pattern> {
        let mut parts = Vec::new();
        let mut rest = vec![term];
        while let Some(term) = rest.pop() {
            parts.push(match term.get_type() {
                TermType::Atom if names::anything() == term => PatternPart::Anything,
                TermType::Atom => PatternPart::Atom(atoms::number(term)),
                TermType::Integer => match (small_integer(term), integer(term)) {
                    (Some(n), _) if (FIXNUM_MIN..=FIXNUM_MAX).contains(&n) => {
                        PatternPart::Integer(n)
                    }
                    (_, Some((negative, limbs))) => PatternPart::Big(negative, limbs),
                    (_, None) => PatternPart::Beyond,
                },
                TermType::Float => PatternPart::Float(term.decode().ok()?),
                TermType::Binary => {
                    PatternPart::Bytes(Binary::from_term(term).ok()?.as_slice().into())
                }
                TermType::Tuple => {
                    let elements = tuple_elements(term);
                    let env = term.get_env();
                    // SAFETY: elements belong to the environment of their tuple.
                    let term = |element: &_| unsafe { Term::new(env, *element) };
                    rest.extend(elements.iter().rev().map(term));
                    PatternPart::Tuple(elements.len())
                }
                TermType::List => match list_cell(term) {
                    Some((head, tail)) => {
                        rest.extend([tail, head]);
                        PatternPart::Cell
                    }
                    None => PatternPart::EmptyList,
                },
                _ => return None,
            });
        }
        Some(Pattern(parts))
    }

    /// Returns whether a value matches.
    pub fn matches(&self, value: VmTerm<'_>) -> bool {
        let mut rest = vec![value];
        self.0.iter().all(|part| {
            rest.pop()
                .is_some_and(|value| part.matches(value, &mut rest))
        })
    }
}

impl PatternPart {
    /// Returns whether a value matches. Its own parts are added to `rest`, for the pattern parts that follow.
    fn matches<'m>(&self, value: VmTerm<'m>, rest: &mut Vec<VmTerm<'m>>) -> bool {
        match (self, value.view()) {
            (PatternPart::Anything, _) | (PatternPart::EmptyList, View::EmptyList) => true,
            (PatternPart::Atom(atom), View::Atom(other)) => *atom == other,
            (PatternPart::Integer(n), View::Integer(other)) => *n == other,
            (PatternPart::Big(negative, limbs), View::Big(other)) => {
                *negative == other.is_negative() && *limbs == other.limbs()
            }
            (PatternPart::Float(f), View::Float(other)) => *f == other,
            (PatternPart::Bytes(bytes), View::Bytes(other)) => **bytes == *other,
            (PatternPart::Bytes(bytes), View::Foreign(other)) => other.bytes() == Some(&**bytes),
            (PatternPart::Tuple(count), View::Tuple(elements)) if *count == elements.len() => {
                rest.extend(elements.iter().rev());
                true
            }
            (PatternPart::Cell, View::Cons(head, tail)) => {
                rest.extend([tail, head]);
                true
            }
            _ => false,
        }
    }
}
