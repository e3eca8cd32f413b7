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

/// Lets actors go on that are held so, given by their keys: as `next`, each with the captures beside its key, or as what they were if
/// `next` is `nil`. The answer is a list of `:ok` or a word for each.
#[rustler::nif]
fn actors_go_on<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    actors: Vec<(Term<'a>, Term<'a>)>,
    hold: HoldParts,
    next: Option<BehaviourParts>,
    tag: Term<'a>,
) -> Term<'a> {
    moving::go_on(env, (machine, actors), hold, next, WriteMode::first(), tag)
}

/// Lets an actor go on as `actors_go_on` does, with captures that are too large for a normal scheduler or contain long binaries.
#[rustler::nif(schedule = "DirtyCpu")]
fn actor_goes_on_big<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    actor: (Term<'a>, Term<'a>),
    hold: HoldParts,
    next: BehaviourParts,
    tag: Term<'a>,
    kept: Term<'a>,
) -> Term<'a> {
    let mode = WriteMode::dirty(kept);
    moving::go_on(env, (machine, vec![actor]), hold, Some(next), mode, tag)
}
