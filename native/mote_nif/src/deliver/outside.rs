//! Turns on their way to the workers that run them.
use crate::codec::decode::Decoder;
use crate::held::bridge::{pin, Bridge};
use crate::held::desk::{About, Waiting};
use crate::held::handle::Handle;
use crate::held::structs;
use crate::term::atoms;
use crate::term::own_term::{OwnTerm, NURSED};
use mote_vm::machine::{Machine, TurnOutside};
use rustler::types::tuple::make_tuple;
use rustler::{Encoder, ResourceArc, Term};
use std::time::Instant;

/// Puts a turn on the desk of its sponsor.
pub fn begin(bridge: &Bridge, machine: &Machine, turn: TurnOutside<'_>) {
    let Some(resource) = pin(machine) else {
        // The machine has ended.
        return;
    };
    let handle = Handle::new(resource.clone(), machine.acquire(turn.actor));
    let actor = ResourceArc::new(handle);
    let desk = bridge.desk(turn.sponsor);
    let decoder = &mut Decoder::for_what_waits();
    let mut bytes = NURSED;
    let [module, name] = [turn.behaviour.module, turn.behaviour.name];
    let term = OwnTerm::make_in(&desk.paper, |env| {
        let values = turn.captures.iter().chain([&turn.message]);
        let values = values.map(|value| {
            decoder.start();
            let term = decoder.term(env, machine, *value);
            bytes += decoder.size();
            term
        });
        let mut captures: Vec<Term<'_>> = values.collect();
        let message = captures.pop()?;
        let about = [
            turn.number.encode(env),
            atoms::to_term(env, module),
            atoms::to_term(env, name),
            turn.version.encode(env),
            turn.only_outside.encode(env),
            structs::address(env, &resource, Handle::key_of(&actor, env), None),
            make_tuple(env, &captures),
            message,
        ];
        Some(make_tuple(env, &about))
    });
    if let Some(term) = term {
        let about = About {
            module,
            name,
            captures: turn.captures.len(),
            free: turn.only_outside,
            actor,
        };
        desk.put(Waiting {
            number: turn.number,
            about,
            since: Instant::now(),
            term,
            _charge: machine.account().charge_anyway(bytes),
        });
    }
}
