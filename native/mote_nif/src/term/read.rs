//! Looking into terms, one level at a time.
use crate::term::own_term::OwnTerm;
use mote_vm::values::foreign::Wide;
use rustler::sys::{
    enif_compare, enif_get_int64, enif_get_list_cell, enif_get_map_size, enif_get_map_value,
    enif_get_tuple, enif_is_identical, ErlNifTerm,
};
use rustler::types::atom::Atom as BeamAtom;
use rustler::{Encoder, Env, Term};
use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// The elements of a tuple; none of anything else.
pub fn tuple_elements(term: Term<'_>) -> &[ErlNifTerm] {
    tuple(term).unwrap_or(&[])
}

/// The elements of a tuple.
pub fn tuple(term: Term<'_>) -> Option<&[ErlNifTerm]> {
    let mut arity = 0;
    let mut elements = MaybeUninit::uninit();
    // SAFETY: on success both are written, and the elements live as long as the term.
    unsafe {
        match enif_get_tuple(
            term.get_env().as_c_arg(),
            term.as_c_arg(),
            &mut arity,
            elements.as_mut_ptr(),
        ) {
            0 => None,
            _ if arity == 0 => Some(&[]),
            _ => Some(std::slice::from_raw_parts(
                elements.assume_init(),
                arity as usize,
            )),
        }
    }
}

/// Head and tail of a non-empty list.
pub fn list_cell<'a>(term: Term<'a>) -> Option<(Term<'a>, Term<'a>)> {
    let env = term.get_env();
    let (mut head, mut tail) = (term.as_c_arg(), term.as_c_arg());
    // SAFETY: on success both are written, and belong to the environment of the list.
    unsafe {
        match enif_get_list_cell(env.as_c_arg(), term.as_c_arg(), &mut head, &mut tail) {
            0 => None,
            _ => Some((Term::new(env, head), Term::new(env, tail))),
        }
    }
}

/// How many keys a map has; 0 for anything else.
pub fn map_size(map: Term<'_>) -> usize {
    let mut size = 0;
    // SAFETY: `size` is written when the term is a map, and stays 0 otherwise.
    unsafe { enif_get_map_size(map.get_env().as_c_arg(), map.as_c_arg(), &mut size) };
    size
}

/// Whether an integer takes little room: a thousand bits at most.
pub fn is_modest(integer: Term<'_>) -> bool {
    static LIMITS: OnceLock<[Option<OwnTerm>; 2]> = OnceLock::new();
    let limit = |f: f64| OwnTerm::make(|env| Some(f.encode(env)));
    let limits = LIMITS.get_or_init(|| [limit(-1.0e300), limit(1.0e300)]);
    let [Some(low), Some(high)] = limits else {
        return false;
    };
    let n = integer.as_c_arg();
    // SAFETY: all three terms are alive.
    unsafe { enif_compare(low.raw(), n) < 0 && enif_compare(n, high.raw()) < 0 }
}

/// Whether 0.0 and -0.0 are different terms on this release.
pub fn two_zeros(env: Env<'_>) -> bool {
    let [plus, minus] = [0.0, -0.0].map(|zero: f64| zero.encode(env));
    // SAFETY: both terms are alive.
    unsafe { enif_is_identical(plus.as_c_arg(), minus.as_c_arg()) == 0 }
}

/// The word that a term is: the same term of one environment has the same.
pub fn word_of(term: ErlNifTerm) -> usize {
    // SAFETY: ErlNifTerm is a transparent wrapper of one word.
    unsafe { std::mem::transmute::<ErlNifTerm, usize>(term) }
}

/// The value of an atom key of a map.
pub fn get<'a>(map: Term<'a>, key: BeamAtom) -> Option<Term<'a>> {
    let env = map.get_env();
    let mut value = MaybeUninit::uninit();
    // SAFETY: atoms belong to every environment; the value is written on success and belongs to the map's.
    unsafe {
        match enif_get_map_value(
            env.as_c_arg(),
            map.as_c_arg(),
            key.as_c_arg(),
            value.as_mut_ptr(),
        ) {
            0 => None,
            _ => Some(Term::new(env, value.assume_init())),
        }
    }
}

/// An integer of 64 bits that is outside of the fixnum range.
pub fn wide(term: Term<'_>) -> Option<Wide> {
    let n = small_integer(term).map(i128::from);
    let n = n.or_else(|| term.decode::<u64>().ok().map(i128::from));
    n.and_then(Wide::new)
}

/// An integer of 64 bits.
pub fn small_integer(term: Term<'_>) -> Option<i64> {
    let mut n = 0;
    // SAFETY: `n` is written when the integer fits.
    let fits = unsafe { enif_get_int64(term.get_env().as_c_arg(), term.as_c_arg(), &mut n) };
    (fits != 0).then_some(n)
}
