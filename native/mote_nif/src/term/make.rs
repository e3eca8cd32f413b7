//! Small terms: binaries, and maps of atom keys.
use rustler::sys::enif_make_map_from_arrays;
use rustler::types::atom::Atom as BeamAtom;
use rustler::{Env, NewBinary, Term};
use std::mem::MaybeUninit;

/// A map of atom keys, which must be distinct.
pub fn map<'a, const N: usize>(env: Env<'a>, entries: [(BeamAtom, Term<'a>); N]) -> Term<'a> {
    let keys = entries.map(|(key, _)| key.as_c_arg());
    let values = entries.map(|(_, value)| value.as_c_arg());
    let mut map = MaybeUninit::uninit();
    // SAFETY: keys and values belong to `env`, and distinct keys always make a map.
    unsafe {
        enif_make_map_from_arrays(
            env.as_c_arg(),
            keys.as_ptr(),
            values.as_ptr(),
            N,
            map.as_mut_ptr(),
        );
        Term::new(env, map.assume_init())
    }
}

/// A binary of the BEAM.
pub fn bytes<'a>(env: Env<'a>, bytes: &[u8]) -> Term<'a> {
    let mut binary = NewBinary::new(env, bytes.len());
    binary.as_mut_slice().copy_from_slice(bytes);
    binary.into()
}
