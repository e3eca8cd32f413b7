//! Making maps of the BEAM.
//!
//! The BEAM makes a large map of all its entries at once, but only on threads of its own: it asks the scheduler for
//! random numbers, and our threads have none. There a large map is made entry by entry. Each step leaves some hundred
//! bytes behind that only the end of the environment frees; so the work is done in an environment aside, which is
//! changed for a fresh one when as much was left behind as copying the map costs.
use crate::term::own_term::OwnTerm;
use rustler::sys::{
    enif_make_copy, enif_make_map_from_arrays, enif_make_map_put, enif_thread_type, ErlNifEnv,
    ErlNifTerm,
};
use rustler::{Env, Term};
use std::mem::MaybeUninit;

/// The most entries that the BEAM sorts without asking the scheduler for anything.
const SORTED_BY_BEAM: usize = 32;

/// Entries up to which the memory left behind is not worth an environment.
const BESIDE: usize = 200;

/// Approximate number of terms that weigh as much as the memory one step leaves behind.
const STEP: usize = 16;

/// Returns whether this thread makes a map of that many entries one by one.
pub fn is_slow(entries: usize) -> bool {
    entries > SORTED_BY_BEAM && !is_of_beam()
}

fn is_of_beam() -> bool {
    // SAFETY: no conditions.
    unsafe { enif_thread_type() != 0 }
}

/// A map of these keys and values, which belong to `env`. `weight` is at least how many terms they are made of.
pub fn make(env: Env<'_>, keys: &[ErlNifTerm], values: &[ErlNifTerm], weight: usize) -> ErlNifTerm {
    if !is_slow(keys.len()) {
        if let Some(map) = at_once(env.as_c_arg(), keys, values) {
            return map;
        }
    }
    let mut entries = keys.iter().copied().zip(values.iter().copied());
    if keys.len() <= BESIDE {
        let empty = Term::map_new(env).as_c_arg();
        return entries.fold(empty, |map, (key, value)| {
            put(env.as_c_arg(), map, key, value)
        });
    }
    let mut map = OwnTerm::make(|aside| Some(Term::map_new(aside)));
    let part = (weight / STEP).max(BESIDE);
    loop {
        let next: Vec<_> = entries.by_ref().take(part).collect();
        if next.is_empty() {
            return match map {
                Some(map) => map.to(env).as_c_arg(),
                // Not reached: nothing here fails.
                None => Term::map_new(env).as_c_arg(),
            };
        }
        map = OwnTerm::make(|aside| {
            let whole = map.as_ref()?.to(aside).as_c_arg();
            let to = aside.as_c_arg();
            let whole = next.into_iter().fold(whole, |map, (key, value)| {
                // SAFETY: the terms are alive; the copies belong to `aside`.
                let [key, value] = [key, value].map(|term| unsafe { enif_make_copy(to, term) });
                put(to, map, key, value)
            });
            // SAFETY: made in `aside` just now.
            Some(unsafe { Term::new(aside, whole) })
        });
    }
}

/// `None` when the BEAM takes two of the keys for one.
fn at_once(env: *mut ErlNifEnv, keys: &[ErlNifTerm], values: &[ErlNifTerm]) -> Option<ErlNifTerm> {
    let mut map = MaybeUninit::uninit();
    // SAFETY: there are as many values as keys, all of `env`; `map` is written on success.
    unsafe {
        let (n, to) = (keys.len(), map.as_mut_ptr());
        let made = enif_make_map_from_arrays(env, keys.as_ptr(), values.as_ptr(), n, to);
        (made != 0).then(|| map.assume_init())
    }
}

fn put(env: *mut ErlNifEnv, map: ErlNifTerm, key: ErlNifTerm, value: ErlNifTerm) -> ErlNifTerm {
    let mut with = map;
    // SAFETY: `map` is a map, and all terms belong to `env`.
    unsafe { enif_make_map_put(env, map, key, value, &mut with) };
    with
}
