//! Actors that leave for other machines: holding them between two turns, and letting them go on (mote_vm/src/machine/moving.rs).
use crate::codec::budget::WriteMode;
use crate::deliver::mail::{tell, tell_last};
use crate::enter::create::{behaviour, prepare, BehaviourParts};
use crate::enter::question::inquiry_about;
use crate::held::structs;
use crate::term::atoms::names;
use mote_vm::machine::moving::{GoesOn, Hold, Stays};
use mote_vm::machine::{Inspection, Machine};
use rustler::types::tuple::make_tuple;
use rustler::{Atom, Encoder, Env, Term};

/// Captures of the behaviour of an actor that is held (mote_vm/src/machine/moving.rs).
const HELD: usize = 4;

/// The behaviour of an actor that is held, and the number of its holder.
pub type HoldParts = (BehaviourParts, u32);

/// Holds an actor between two turns, as `hold` says: the answer is what it was, or a word that says why it stays.
pub fn hold<'a>(
    env: Env<'a>,
    actor: (Term<'a>, Term<'a>),
    hold: HoldParts,
    tag: Term<'a>,
) -> Term<'a> {
    inquiry_about(env, actor, tag, |target, customer| {
        let hold = held(target.machine, hold)?;
        let take = Box::new(
            move |machine: &Machine, seen: Result<Inspection<'_>, Stays>| {
                if !customer.claim() {
                    return false;
                }
                let is_held = seen.is_ok();
                // Only then it may run elsewhere: what it has sent to processes comes before what it sends from there.
                tell_last(machine, customer.pid(), |env, decoder| {
                    let answer = match seen {
                        Err(why) => word(why).encode(env),
                        Ok(seen) => {
                            let captures: Vec<_> = seen
                                .captures
                                .iter()
                                .map(|capture| decoder.term(env, machine, *capture))
                                .collect();
                            let captures = make_tuple(env, &captures);
                            structs::behaviour(env, machine, seen.behaviour, captures)
                        }
                    };
                    customer.tagged(env, answer)
                });
                is_held
            },
        );
        match target.machine.hold_still(target.key, hold, take) {
            true => Ok(()),
            false => Err(names::unknown()),
        }
    })
}

/// Lets an actor go on that is held so: as `next`, with those captures, which are written by `mode`, or as what it was. The answer is
/// `:ok` or a word.
pub fn go_on<'a>(
    env: Env<'a>,
    actor: (Term<'a>, Term<'a>),
    hold: HoldParts,
    next: Option<(BehaviourParts, Term<'a>)>,
    mode: WriteMode<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    inquiry_about(env, actor, tag, |target, customer| {
        let hold = held(target.machine, hold)?;
        let next = match next {
            None => GoesOn::Back,
            Some((next, captures)) => {
                let (resource, machine) = (target.resource, target.machine);
                let (version, captures) = prepare(resource, machine, next, captures, mode)?;
                GoesOn::As(version, captures)
            }
        };
        let told = Box::new(move |machine: &Machine, gone: Result<(), Stays>| {
            if customer.claim() {
                let answer = gone.map_or_else(word, |()| names::ok());
                tell(machine, customer.pid(), |env, _| {
                    customer.tagged(env, answer.encode(env))
                });
            }
        });
        match target.machine.go_on(target.key, hold, next, told) {
            true => Ok(()),
            false => Err(names::unknown()),
        }
    })
}

fn held(machine: &Machine, (parts, holder): HoldParts) -> Result<Hold, Atom> {
    let held = behaviour(machine, parts, HELD)?;
    Ok(Hold { held, holder })
}

fn word(why: Stays) -> Atom {
    match why {
        Stays::Sink => names::sink(),
        Stays::Safe => names::safe(),
        Stays::Busy => names::busy(),
        Stays::Held => names::held(),
        Stays::NotHeld => names::not_held(),
        Stays::Stale => names::stale(),
        Stays::TooLarge => names::too_large(),
        Stays::NoMemory => names::no_memory(),
    }
}
