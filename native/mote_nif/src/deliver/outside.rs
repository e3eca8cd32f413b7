//! Turns on their way to the workers that run them.
use crate::codec::decode::Decoder;
use crate::held::bridge::{pin, Bridge};
use crate::held::desk::Waiting;
use crate::held::handle::Handle;
use crate::held::structs;
use crate::term::atoms;
use crate::term::own_term::OwnTerm;
use mote_vm::machine::{Machine, TurnOutside};
use rustler::types::tuple::make_tuple;
use rustler::{Encoder, Term};
use std::time::Instant;

/// Puts a turn on the desk of its sponsor.
pub fn begin(bridge: &Bridge, machine: &Machine, turn: TurnOutside<'_>) {
    let Some(resource) = pin(machine) else {
        // The machine has ended.
        return;
    };
    let TurnOutside {
        number,
        behaviour,
        version,
        only_outside,
        ..
    } = turn;
    let term = OwnTerm::make(|env| {
        let decoder = &mut Decoder::for_what_waits();
        let captures: Vec<Term<'_>> = turn
            .captures
            .iter()
            .map(|capture| {
                decoder.start();
                decoder.term(env, machine, *capture)
            })
            .collect();
        decoder.start();
        let message = decoder.term(env, machine, turn.message);
        let handle = Handle::new(resource.clone(), machine.acquire(turn.actor));
        let [module, name] = [behaviour.module, behaviour.name].map(|a| atoms::to_term(env, a));
        let about = [
            number.encode(env),
            module,
            name,
            version.encode(env),
            only_outside.encode(env),
            structs::address(env, &resource, handle, None),
            make_tuple(env, &captures),
            message,
        ];
        Some(make_tuple(env, &about))
    });
    if let Some(term) = term {
        bridge.desk(turn.sponsor).put(Waiting {
            number,
            module: behaviour.module,
            name: behaviour.name,
            free: only_outside,
            since: Instant::now(),
            term,
        });
    }
}
