//! Turns on their way to the workers that run them.
use crate::codec::given;
use crate::held::bridge::{pin, Bridge};
use crate::held::desk::{About, Waiting};
use crate::held::foreign;
use crate::held::handle::Handle;
use crate::held::question::Outside;
use mote_vm::machine::{Machine, TurnAway};
use mote_vm::Term as VmTerm;
use std::time::Instant;

/// Puts a turn on the desk of its sponsor.
pub fn begin(bridge: &Bridge, machine: &Machine, turn: TurnAway<'_>) {
    let Some(resource) = pin(machine) else {
        // The machine has ended.
        return;
    };
    let desk = bridge.desk(turn.sponsor);
    if let Some((given, bytes)) = given::write(&desk.nursery, machine, &resource, &turn) {
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
            asker: foreign::customer_of(turn.message).map(|customer| customer.pid),
            question: asked(bridge, machine, turn.message),
            _charge: machine.account().charge_anyway(bytes),
        });
    }
}

/// The question that a turn answers, which nobody can forget meanwhile. A machine that runs by a seed looks at its questions
/// at times that the seed decides alone; and another machine is not told when the turn ends, so it goes on looking at its own.
fn asked(bridge: &Bridge, machine: &Machine, message: VmTerm<'_>) -> Option<Outside> {
    let customer = foreign::customer_of(message).filter(|_| !machine.is_seeded())?;
    let question = &customer.question;
    question
        .is_among(&bridge.questions)
        .then(|| question.go_outside())?
}
