//! Actors that leave for other machines: lib/mote/move.ex.
use crate::enter::create::BehaviourParts;
use crate::enter::moving;
use rustler::{Env, Term};

/// Holds an actor between two turns, with the behaviour `held`: the answer is what it was, a `Mote.Behaviour`, or a word that says
/// why it stays.
#[rustler::nif]
fn actor_hold<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    held: BehaviourParts,
    tag: Term<'a>,
) -> Term<'a> {
    moving::hold(env, machine, key, held, tag)
}

/// Lets an actor go on that is `held`: as `next`, with those captures, or as what it was if `next` is `nil`. The answer is `:ok` or
/// a word.
#[rustler::nif]
fn actor_go_on<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    held: BehaviourParts,
    next: Option<BehaviourParts>,
    captures: Term<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    let next = next.map(|next| (next, captures));
    moving::go_on(env, (machine, key), held, next, tag)
}
