//! Small and plain messages on the way out: their terms.
use crate::term::assembly::tuple;
use crate::term::atoms::{self, names};
use crate::term::make::bytes;
use crate::term::maps;
use crate::term::own_term::OwnTerm;
use mote_vm::boundary::outbox::{Letters, Part, Plain};
use rustler::sys::{enif_make_list_cell, ErlNifTerm};
use rustler::{Encoder, Env, Term};

/// The term of a letter that stands alone; it can be read again.
pub fn letter<'a>(env: Env<'a>, letters: &mut Letters<OwnTerm>) -> Term<'a> {
    let mut made = Vec::new();
    letters.rewind();
    letters.read(|part| {
        let term = build(env, part, &mut made);
        made.push(term);
    });
    match made.pop() {
        // SAFETY: made in `env` just now.
        Some(term) => unsafe { Term::new(env, term) },
        None => names::nil().to_term(env),
    }
}

/// The term of a part, whose own parts are on the stack.
pub fn build(
    env: Env<'_>,
    part: Part<'_, impl AsRef<OwnTerm>>,
    made: &mut Vec<ErlNifTerm>,
) -> ErlNifTerm {
    build_with(env, part, made, |own| own.as_ref().to(env))
}

/// Returns the term of a part as [`build`] does, but lets `other` make the term of anything copied.
pub fn build_with<'a, F>(
    env: Env<'a>,
    part: Part<'_, F>,
    made: &mut Vec<ErlNifTerm>,
    other: impl FnOnce(F) -> Term<'a>,
) -> ErlNifTerm {
    match part {
        Part::Plain(value) => plain(env, value),
        Part::Float(f) => f.encode(env).as_c_arg(),
        Part::Bytes(content) => bytes(env, content).as_c_arg(),
        Part::Other(copied) => other(copied).as_c_arg(),
        Part::Row(row) => {
            let from = made.len();
            made.extend(row.iter().map(|value| plain(env, value)));
            tuple(env, made, from)
        }
        Part::Tuple(count) => tuple(env, made, made.len().saturating_sub(count)),
        Part::Map(count) => {
            let from = made.len().saturating_sub(2 * count);
            let (keys, values) = made[from..].split_at((made.len() - from) / 2);
            let map = maps::make(env, keys, values, count);
            made.truncate(from);
            map
        }
        Part::List(count) => {
            let from = made.len().saturating_sub(count + 1);
            let mut cells = made.drain(from..).rev();
            let tail = cells.next();
            let empty = Term::list_new_empty(env).as_c_arg();
            // SAFETY: heads and tail belong to `env`.
            cells.fold(tail.unwrap_or(empty), |tail, head| unsafe {
                enif_make_list_cell(env.as_c_arg(), head, tail)
            })
        }
    }
}

pub fn plain(env: Env<'_>, value: Plain) -> ErlNifTerm {
    let term = match value {
        Plain::Integer(n) => n.encode(env),
        Plain::Float(f) => f.encode(env),
        Plain::Atom(atom) => atoms::to_term(env, atom),
        Plain::EmptyList => Term::list_new_empty(env),
    };
    term.as_c_arg()
}
