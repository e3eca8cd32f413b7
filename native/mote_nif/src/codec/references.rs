//! The addresses and customers in a term: what a message declares when it goes to another node.
use crate::term::atoms::names;
use crate::term::read::{is_struct, list_cell, map_size, tuple};
use rustler::{MapIterator, Term};

/// Collects all references in a term, one that is there several times as often, and counts its parts. Returns `None` if these are more
/// than `most`. Captures of functions are not looked into.
pub fn references(term: Term<'_>, most: usize) -> Option<(Vec<Term<'_>>, usize)> {
    let mut budget = most;
    let mut found = Vec::new();
    let mut stack = vec![term];
    while let Some(term) = stack.pop() {
        budget = budget.checked_sub(1)?;
        if let Some(elements) = tuple(term) {
            budget = budget.checked_sub(elements.len())?;
            let env = term.get_env();
            // SAFETY: elements belong to the environment of their tuple.
            stack.extend(elements.iter().map(|e| unsafe { Term::new(env, *e) }));
        } else if let Some((head, tail)) = list_cell(term) {
            stack.extend([tail, head]);
        } else if is_reference(term) {
            found.push(term);
        } else if let Ok(entries) = term.decode::<MapIterator>() {
            budget = budget.checked_sub(2 * map_size(term))?;
            stack.extend(entries.flat_map(|(key, value)| [key, value]));
        }
    }
    Some((found, most - budget))
}

fn is_reference(term: Term<'_>) -> bool {
    match map_size(term) {
        4 => is_struct(term, names::address()),
        2 => is_struct(term, names::customer()),
        _ => false,
    }
}
