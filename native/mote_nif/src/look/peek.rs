//! What an actor holds as of its last commit, as the result of the call that peeks.
use crate::codec::budget::WriteMode;
use crate::codec::decode::Decoder;
use crate::codec::encode::Writer;
use crate::enter::target::Addressee;
use crate::term::atoms::{self, names};
use mote_vm::boundary::parcel::Parcel;
use mote_vm::look::peek::Peek;
use rustler::types::tuple::make_tuple;
use rustler::{Atom, Encoder, Env, Term};

/// The name of the behaviour and what it has captured, in one tuple, or why that cannot be seen at once.
pub fn peek_within<'a>(env: Env<'a>, (machine, key): (Term<'a>, Term<'a>)) -> Term<'a> {
    let seen = Addressee::look_at(machine, key).and_then(|target| look(env, &target, None));
    seen.unwrap_or_else(|word| word.encode(env))
}

/// Peeks at the actor that a shard has for a key, as [`peek_within`] does.
pub fn peek_entry_within<'a>(
    env: Env<'a>,
    shard: (Term<'a>, Term<'a>),
    entry: Term<'a>,
) -> Term<'a> {
    let seen = Addressee::look_at(shard.0, shard.1).and_then(|target| {
        let mut writer = Writer::new(target.resource, target.machine, WriteMode::first());
        writer.term(entry)?;
        writer.count_spent(env);
        look(env, &target, Some(writer.builder.finish()))
    });
    seen.unwrap_or_else(|word| word.encode(env))
}

fn look<'a>(env: Env<'a>, target: &Addressee<'_>, entry: Option<Parcel>) -> Result<Term<'a>, Atom> {
    let machine = target.machine;
    let seen = machine.glimpse(target.key, entry, |behaviour, captures| {
        let mut decoder = Decoder::default();
        let name = atoms::to_term(env, behaviour.name);
        let captures = captures
            .iter()
            .map(|capture| decoder.term(env, machine, *capture));
        make_tuple(env, &[name].into_iter().chain(captures).collect::<Vec<_>>())
    });
    match seen {
        Peek::Seen(term) => Ok(term),
        Peek::Busy => Err(names::busy()),
        Peek::Absent => Err(names::nil()),
        Peek::Unknown => Err(names::unknown()),
    }
}
