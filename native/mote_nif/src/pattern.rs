//! Patterns of messages: terms of atoms, numbers, binaries, tuples and lists, where `:_` stands for anything.
use crate::atoms::{self, names};
use crate::read::{list_cell, tuple_elements};
use mote_vm::{Term as Value, View};
use rustler::{Binary, Term, TermType};

/// Whether the term can be a pattern.
pub fn is_pattern(term: Term<'_>) -> bool {
    let mut rest = vec![term];
    while let Some(term) = rest.pop() {
        match term.get_type() {
            TermType::Atom | TermType::Integer | TermType::Float => {}
            TermType::Binary if Binary::from_term(term).is_ok() => {}
            TermType::Tuple => rest.extend(elements(term)),
            TermType::List => rest.extend(list_cell(term).into_iter().flat_map(|(h, t)| [t, h])),
            _ => return false,
        }
    }
    true
}

/// Whether a value is like that.
pub fn matches(pattern: Term<'_>, value: Value<'_>) -> bool {
    let mut rest = vec![(pattern, value)];
    while let Some((pattern, value)) = rest.pop() {
        let same = match (pattern.get_type(), value.view()) {
            (TermType::Atom, _) if names::anything() == pattern => true,
            (TermType::Atom, View::Atom(atom)) => atoms::number(pattern) == atom,
            (TermType::Integer, View::Integer(n)) => pattern.decode().ok() == Some(n),
            (TermType::Float, View::Float(f)) => pattern.decode().ok() == Some(f),
            (TermType::Binary, View::Bytes(bytes)) => is_bytes(pattern, bytes),
            (TermType::Binary, View::Foreign(foreign)) => foreign
                .bytes()
                .is_some_and(|bytes| is_bytes(pattern, bytes)),
            (TermType::List, View::EmptyList) => pattern.is_empty_list(),
            (TermType::List, View::Cons(head, tail)) => match list_cell(pattern) {
                Some((first, others)) => {
                    rest.extend([(others, tail), (first, head)]);
                    true
                }
                None => false,
            },
            (TermType::Tuple, View::Tuple(values)) => {
                let same = tuple_elements(pattern).len() == values.len();
                rest.extend(elements(pattern).zip(values.iter()).filter(|_| same));
                same
            }
            _ => false,
        };
        if !same {
            return false;
        }
    }
    true
}

fn elements<'a>(tuple: Term<'a>) -> impl Iterator<Item = Term<'a>> {
    let env = tuple.get_env();
    // SAFETY: elements belong to the environment of their tuple.
    let term = move |element: &_| unsafe { Term::new(env, *element) };
    tuple_elements(tuple).iter().map(term)
}

fn is_bytes(pattern: Term<'_>, bytes: &[u8]) -> bool {
    Binary::from_term(pattern).is_ok_and(|binary| binary.as_slice() == bytes)
}
