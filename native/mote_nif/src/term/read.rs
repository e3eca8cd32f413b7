//! Looking into terms, one level at a time.
use crate::term::atoms::names;
use crate::term::own_term::OwnTerm;
use mote_vm::values::big::MOST_LIMBS;
use rustler::sys::{
    enif_get_int64, enif_get_list_cell, enif_get_map_size, enif_get_map_value, enif_get_tuple,
    enif_is_identical, ErlNifTerm,
};
use rustler::types::atom::Atom;
use rustler::{Encoder, Env, Term};
use std::mem::MaybeUninit;

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

/// Returns the number of a map's keys; 0 for anything else.
pub fn map_size(map: Term<'_>) -> usize {
    let mut size = 0;
    // SAFETY: `size` is written when the term is a map, and stays 0 otherwise.
    unsafe { enif_get_map_size(map.get_env().as_c_arg(), map.as_c_arg(), &mut size) };
    size
}

/// Returns whether 0.0 and -0.0 are different terms on this release.
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
pub fn get<'a>(map: Term<'a>, key: Atom) -> Option<Term<'a>> {
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

/// An integer as its sign and its absolute value, the lowest limb first; `None` if a machine cannot calculate with it.
pub fn integer(term: Term<'_>) -> Option<(bool, Vec<u64>)> {
    if let Some(n) = small_integer(term) {
        return Some((n < 0, vec![n.unsigned_abs()]));
    }
    if let Ok(n) = term.decode::<u64>() {
        return Some((false, vec![n]));
    }
    // The external term format, behind the number of its version: the size in one byte, or in four, then the sign.
    let written = term.to_binary();
    let (sign, bytes) = match *written.as_slice() {
        [131, 110, _, sign, ref bytes @ ..] => (sign, bytes),
        [131, 111, _, _, _, _, sign, ref bytes @ ..] => (sign, bytes),
        _ => return None,
    };
    let limb = |part: &[u8]| {
        part.iter()
            .rev()
            .fold(0, |n, byte| n << 8 | u64::from(*byte))
    };
    let fits = bytes.len() <= MOST_LIMBS * size_of::<u64>();
    fits.then(|| (sign != 0, bytes.chunks(8).map(limb).collect()))
}

/// An integer of 64 bits.
pub fn small_integer(term: Term<'_>) -> Option<i64> {
    let mut n = 0;
    // SAFETY: `n` is written when the integer fits.
    let fits = unsafe { enif_get_int64(term.get_env().as_c_arg(), term.as_c_arg(), &mut n) };
    (fits != 0).then_some(n)
}

/// Returns whether a map is a struct of that name.
pub fn is_struct(map: Term<'_>, name: Atom) -> bool {
    let found = get(map, names::__struct__());
    found.is_some_and(|found| found.as_c_arg() == name.as_c_arg())
}

/// Returns whether a reference was made by another node. This node before a restart counts as another one.
pub fn is_of_another_node(reference: Term<'_>) -> bool {
    let own = OwnTerm::make(|env| Some(env.make_ref().encode(env)));
    let own = own.and_then(|own| own.with(maker));
    reference.is_ref() && maker(reference) != own
}

/// The node that has made a reference, with its creation, as the external format has both: behind the number of words that
/// tell its references apart, and before these words.
fn maker(reference: Term<'_>) -> Option<Vec<u8>> {
    let written = reference.to_binary();
    let [131, 90, high, low, rest @ ..] = written.as_slice() else {
        return None;
    };
    let words = usize::from(u16::from_be_bytes([*high, *low])) * size_of::<u32>();
    rest.get(..rest.len().checked_sub(words)?)
        .map(<[u8]>::to_vec)
}
