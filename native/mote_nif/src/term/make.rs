//! Small terms: binaries, and maps of atom keys.
use mote_vm::values::big::Big;
use rustler::sys::enif_make_map_from_arrays;
use rustler::types::atom::Atom;
use rustler::{Encoder, Env, NewBinary, Term};
use std::mem::MaybeUninit;

/// A map of atom keys, which must be distinct.
pub fn map<'a, const N: usize>(env: Env<'a>, entries: [(Atom, Term<'a>); N]) -> Term<'a> {
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

/// An integer of any size. `None` if the BEAM has none so large.
pub fn integer<'a>(env: Env<'a>, big: Big<'_>) -> Option<Term<'a>> {
    if let ([limb], false) = (big.limbs(), big.is_negative()) {
        return Some(limb.encode(env));
    }
    if let Some(n) = big.as_i64() {
        return Some(n.encode(env));
    }
    // The external term format.
    let bytes = big.limbs().iter().flat_map(|limb| limb.to_le_bytes());
    let size = size_of_val(big.limbs());
    let mut written = Vec::with_capacity(size + 7);
    match u8::try_from(size) {
        Ok(size) => written.extend([131, 110, size]),
        Err(_) => {
            written.extend([131, 111]);
            written.extend((size as u32).to_be_bytes());
        }
    }
    written.push(big.is_negative().into());
    written.extend(bytes);
    // SAFETY: it was written just above, and makes no atom.
    unsafe { env.binary_to_term_trusted(&written) }.map(|(term, _)| term)
}

/// A binary of the BEAM.
pub fn bytes<'a>(env: Env<'a>, bytes: &[u8]) -> Term<'a> {
    let mut binary = NewBinary::new(env, bytes.len());
    binary.as_mut_slice().copy_from_slice(bytes);
    binary.into()
}
