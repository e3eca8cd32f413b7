//! Messages to other nodes, and from them.
use crate::codec::budget::{seen, NORMAL, SEEN};
use crate::codec::references::references;
use crate::codec::words::words;
use crate::held::far::{Dropped, FarKey};
use crate::held::handle::{parse_key, Handle, KEY_BYTES};
use crate::held::listed::Listed;
use crate::held::lives::present_machine;
use crate::term::atoms::names;
use crate::term::resource::ResourceArc;
use rustler::{Atom, Binary, Encoder, Env, Term};

in_normal_and_dirty_form! {
    /// The addresses and customers in a term, or `:big`.
    references_in, references_in_big (
        term: Term<'a>
    ) |env, may_take_long| {
        let budget = if may_take_long { usize::MAX } else { SEEN };
        match references(term, budget) {
            Some((found, parts)) => {
                seen(env, parts);
                found.encode(env)
            }
            None => names::big().encode(env),
        }
    }
}

in_normal_and_dirty_form! {
    /// Returns about how many words a term takes, or `:big`.
    words_in, words_in_big (
        term: Term<'a>
    ) |env, may_take_long| {
        let most = if may_take_long { usize::MAX } else { SEEN };
        match words(term, most) {
            Some((words, parts)) => {
                seen(env, parts);
                words.encode(env)
            }
            None => names::big().encode(env),
        }
    }
}

/// Makes the list in which keys made for the calling process report their end. The process gets `:mote_dropped` when there is something
/// to take.
#[rustler::nif]
fn dropped_new<'a>(env: Env<'a>) -> Term<'a> {
    ResourceArc::new(Dropped::new(env.pid())).encode(env)
}

/// Takes at most `at_most` numbers of keys that have ended. If there were as many, there may be more, and no message comes for these.
#[rustler::nif]
fn dropped_take(dropped: ResourceArc<Dropped>, at_most: usize) -> Vec<u64> {
    dropped.take(at_most.min(NORMAL))
}

/// A key with the bytes of one of another node, or with zeros, that stands for the announcement of that number.
#[rustler::nif]
fn far_key<'a>(
    env: Env<'a>,
    key: Term<'a>,
    dropped: ResourceArc<Dropped>,
    number: u64,
) -> Term<'a> {
    let mut content = [0; KEY_BYTES];
    if let Ok(bytes) = Binary::from_term(key) {
        if bytes.len() == KEY_BYTES {
            content.copy_from_slice(&bytes);
        }
    }
    FarKey::key(env, content, dropped, number)
}

/// A list of actors that another node has, empty.
#[rustler::nif]
fn listed_new<'a>(env: Env<'a>) -> Term<'a> {
    ResourceArc::new(Listed::default()).encode(env)
}

in_normal_and_dirty_form! {
    /// Lists `{number, machine, key}`, as far as the actors are there. Returns the number listed then, or `:big`.
    listed_add, listed_add_big (
        listed: ResourceArc<Listed>, announced: Vec<(u64, Term<'a>, Term<'a>)>
    ) |env, may_take_long| {
        if !may_take_long && announced.len() > NORMAL {
            return names::big().encode(env);
        }
        let held = announced.into_iter().filter_map(|(number, machine, key)| {
            let machine = present_machine(machine)?;
            Some((number, machine.running()?.hold(parse_key(key)?)?))
        });
        listed.add(held).encode(env)
    }
}

in_normal_and_dirty_form! {
    /// Forgets the actors of these numbers. Returns the number listed then, or `:big`.
    listed_drop, listed_drop_big (
        listed: ResourceArc<Listed>, numbers: Vec<Term<'a>>
    ) |env, may_take_long| {
        if !may_take_long && numbers.len() > NORMAL {
            return names::big().encode(env);
        }
        let numbers = numbers.into_iter().filter_map(|number| number.decode().ok());
        listed.drop_all(numbers).encode(env)
    }
}

/// Forgets all of them.
#[rustler::nif(schedule = "DirtyCpu")]
fn listed_clear(listed: ResourceArc<Listed>) -> Atom {
    listed.clear();
    names::ok()
}

/// The key of an address that has come home, which holds the actor again; `:unknown` if that is gone.
#[rustler::nif]
fn own_key<'a>(env: Env<'a>, machine: Term<'a>, key: Term<'a>) -> Term<'a> {
    let held = present_machine(machine).and_then(|resource| {
        let held = resource.running()?.hold(parse_key(key)?)?;
        Some(Handle::new(resource.clone(), held.into_key()))
    });
    match held {
        Some(handle) => handle.key(env),
        None => names::unknown().encode(env),
    }
}
