//! Messages to other nodes, and from them.
use crate::codec::budget::NORMAL;
use crate::codec::references::references;
use crate::held::far::FarKey;
use crate::held::handle::{parse_key, Handle, KEY_BYTES};
use crate::held::machine::MachineResource;
use crate::term::atoms::names;
use rustler::{Binary, Encoder, Env, LocalPid, ResourceArc, Term};

in_normal_and_dirty_form! {
    /// The addresses and customers in a term, or `:big`.
    references_in, references_in_big (
        term: Term<'a>
    ) |env, may_take_long| {
        let budget = if may_take_long { usize::MAX } else { NORMAL };
        match references(term, budget) {
            Some(found) => found.encode(env),
            None => names::big().encode(env),
        }
    }
}

/// A key with the bytes of one of another node, or with zeros, that stands for the announcement of that number: when nobody has
/// it any more, the process gets `{:mote_dropped, number}`.
#[rustler::nif]
fn far_key<'a>(env: Env<'a>, key: Term<'a>, porter: LocalPid, number: u64) -> Term<'a> {
    let mut content = [0; KEY_BYTES];
    if let Ok(bytes) = Binary::from_term(key) {
        if bytes.len() == KEY_BYTES {
            content.copy_from_slice(&bytes);
        }
    }
    FarKey::key(env, content, porter, number)
}

/// The key of an address that has come home, which holds the actor again; `:unknown` if that is gone.
#[rustler::nif]
fn own_key<'a>(env: Env<'a>, machine: Term<'a>, key: Term<'a>) -> Term<'a> {
    let found = machine.decode::<ResourceArc<MachineResource>>();
    let held = found.ok().and_then(|resource| {
        let held = resource.running()?.hold(parse_key(key)?)?;
        Some(Handle::new(resource.clone(), held.into_key()))
    });
    match held {
        Some(handle) => handle.key(env),
        None => names::unknown().encode(env),
    }
}
