//! The size of a term in memory, in words.
use crate::term::read::{list_cell, map_size, tuple_elements};
use rustler::{MapIterator, Term, TermType};

/// Words counted for a term that takes several words and has no parts: a float, a reference, the beginning of a binary. Its bytes are
/// left out, as the digits of a large integer are.
const LEAF: usize = 6;

/// Returns about how many words a term takes, and how many parts it has, unless these are more than `most`. A part that is there several
/// times counts as often.
pub fn words(term: Term<'_>, most: usize) -> Option<(usize, usize)> {
    let (mut words, mut left) = (0, most);
    let mut stack = vec![term];
    while let Some(term) = stack.pop() {
        left = left.checked_sub(1)?;
        words += match term.get_type() {
            TermType::Atom | TermType::Integer => 0,
            TermType::List => match list_cell(term) {
                Some((head, tail)) => {
                    stack.extend([tail, head]);
                    2
                }
                None => 0,
            },
            TermType::Tuple => {
                let (env, elements) = (term.get_env(), tuple_elements(term));
                left = left.checked_sub(elements.len())?;
                // SAFETY: elements belong to the environment of their tuple.
                stack.extend(elements.iter().map(|e| unsafe { Term::new(env, *e) }));
                1 + elements.len()
            }
            TermType::Map => {
                left = left.checked_sub(2 * map_size(term))?;
                let entries = term.decode::<MapIterator>().into_iter().flatten();
                stack.extend(entries.flat_map(|(key, value)| [key, value]));
                LEAF + 2 * map_size(term)
            }
            _ => LEAF,
        };
    }
    Some((words, most - left))
}
