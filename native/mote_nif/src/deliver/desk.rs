//! Turns on their way to the workers that run them.
use crate::codec::decode::Decoder;
use crate::held::bridge::{pin, Bridge};
use crate::held::desk::{About, Waiting};
use crate::held::handle::Handle;
use crate::term::own_term::{OwnTerm, NURSED};
use mote_vm::machine::{Machine, TurnAway};
use rustler::types::tuple::make_tuple;
use rustler::{Encoder, Term};
use std::time::Instant;

/// What is smaller may have neighbours that come later, and perhaps never.
const SMALL: usize = 1 << 10;

/// Puts a turn on the desk of its sponsor.
pub fn begin(bridge: &Bridge, machine: &Machine, turn: TurnAway<'_>) {
    let Some(resource) = pin(machine) else {
        // The machine has ended.
        return;
    };
    let desk = bridge.desk(turn.sponsor);
    let decoder = &mut Decoder::for_what_waits();
    let (mut bytes, mut holds) = (NURSED, false);
    let values = OwnTerm::make_in(&desk.paper, |env| {
        let values = turn.captures.iter().chain([&turn.message]);
        let values = values.map(|value| {
            decoder.start();
            let term = decoder.term(env, machine, *value);
            bytes += decoder.size();
            holds |= decoder.holds();
            term
        });
        let mut captures: Vec<Term<'_>> = values.collect();
        let message = captures.pop()?;
        let values = (make_tuple(env, &captures), message).encode(env);
        Some((values, !holds && bytes < SMALL))
    });
    if let Some(values) = values {
        let about = About {
            module: turn.behaviour.module,
            name: turn.behaviour.name,
            captures: turn.captures.len(),
            free: turn.away_only,
        };
        desk.put(Waiting {
            number: turn.number,
            about,
            version: turn.version,
            actor: Handle::new(resource, machine.acquire(turn.actor)),
            since: Instant::now(),
            values,
            _charge: machine.account().charge_anyway(bytes),
        });
    }
}
