//! Actors that leave for other machines: lib/mote/move.ex.
use crate::codec::budget::WriteMode;
use crate::enter::create::BehaviourParts;
use crate::enter::moving::{self, HoldParts};
use rustler::{Env, Term};

/// Holds an actor between two turns, as `hold` says: its behaviour meanwhile and the number of its holder. The answer is what it was, a
/// `Mote.Behaviour`, or a word that says why it stays.
#[rustler::nif]
fn actor_hold<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    hold: HoldParts,
    tag: Term<'a>,
) -> Term<'a> {
    moving::hold(env, (machine, key), hold, tag)
}

/// Lets an actor go on that is held so: as `next`, with those captures, or as what it was if `next` is `nil`. The answer is `:ok` or
/// a word.
#[rustler::nif]
fn actor_go_on<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    hold: HoldParts,
    next: Option<BehaviourParts>,
    captures: Term<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    let next = next.map(|next| (next, captures));
    moving::go_on(env, (machine, key), hold, next, WriteMode::first(), tag)
}

/// Lets an actor go on as `actor_go_on` does, with captures that are too large for a normal scheduler or contain long binaries.
#[allow(clippy::too_many_arguments)] // What a NIF takes.
#[rustler::nif(schedule = "DirtyCpu")]
fn actor_go_on_big<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    hold: HoldParts,
    next: BehaviourParts,
    captures: Term<'a>,
    tag: Term<'a>,
    kept: Term<'a>,
) -> Term<'a> {
    let next = Some((next, captures));
    moving::go_on(env, (machine, key), hold, next, WriteMode::dirty(kept), tag)
}
