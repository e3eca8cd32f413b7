//! Turns on their way to the workers that run them.
use crate::codec::given;
use crate::held::bridge::{pin, Bridge};
use crate::held::desk::{About, Waiting};
use crate::held::handle::Handle;
use mote_vm::machine::{Machine, TurnAway};
use std::time::Instant;

/// Puts a turn on the desk of its sponsor.
pub fn begin(bridge: &Bridge, machine: &Machine, turn: TurnAway<'_>) {
    let Some(resource) = pin(machine) else {
        // The machine has ended.
        return;
    };
    let desk = bridge.desk(turn.sponsor);
    if let Some((given, bytes)) = given::write(&desk.paper, machine, &resource, &turn) {
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
            given,
            _charge: machine.account().charge_anyway(bytes),
        });
    }
}
