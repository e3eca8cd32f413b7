//! Actors that leave for other machines: holding them between two turns, and letting them go on (mote_vm/src/machine/moving.rs).
use crate::codec::budget::{spent, WriteMode};
use crate::deliver::mail::{tell, tell_last};
use crate::enter::create::{behaviour, prepare, BehaviourParts};
use crate::enter::question::{inquiry, inquiry_about};
use crate::held::handle::parse_key;
use crate::held::lives::present;
use crate::held::machine::MachineResource;
use crate::held::question::Customer;
use crate::held::structs;
use crate::term::atoms::names;
use crate::term::resource::{self, ResourceArc};
use mote_vm::machine::moving::{GoesOn, Hold, Stays};
use mote_vm::machine::{Inspection, Machine};
use parking_lot::Mutex;
use rustler::types::tuple::make_tuple;
use rustler::{Atom, Encoder, Env, Term};
use std::sync::Arc;

/// Captures of the behaviour of an actor that is held (mote_vm/src/machine/moving.rs).
const HELD: usize = 4;

/// Parts that an actor counts as that goes on: about a microsecond.
const PARTS: usize = 20;

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
        if target.machine.is_durable() {
            return Err(names::not_durable());
        }
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

/// Lets actors go on that are held so, given by their keys: as `next`, each with the captures beside its key, which are written by
/// `mode`, or as what they were. The answer is a list of `:ok` or a word for each, once all have gone on.
pub fn go_on<'a>(
    env: Env<'a>,
    (machine, actors): (Term<'a>, Vec<(Term<'a>, Term<'a>)>),
    hold: HoldParts,
    next: Option<BehaviourParts>,
    mode: WriteMode<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    inquiry(env, machine, tag, |customer| {
        let resource: &MachineResource =
            resource::get(present(machine)).ok_or_else(names::unknown)?;
        let machine = resource.running().ok_or_else(names::stopped)?;
        let hold = held(machine, hold)?;
        let gone = Arc::new(Gone::new(customer.clone(), actors.len()));
        spent(env, PARTS * actors.len());
        for (i, (key, captures)) in actors.into_iter().enumerate() {
            let put = || {
                let key = parse_key(key).ok_or_else(names::unknown)?;
                let next = match next {
                    None => GoesOn::Back,
                    Some(next) => {
                        let (version, captures) = prepare(resource, machine, next, captures, mode)?;
                        GoesOn::As(version, captures)
                    }
                };
                let gone = gone.clone();
                let told = Box::new(move |machine: &Machine, went: Result<(), Stays>| {
                    gone.on(machine, i, went.map_or_else(word, |()| names::ok()));
                });
                match machine.go_on(key, hold.clone(), next, told) {
                    true => Ok(()),
                    false => Err(names::unknown()),
                }
            };
            if let Err(word) = put() {
                gone.on(machine, i, word);
            }
        }
        Ok(())
    })
}

/// The outcome for actors that are to go on. One answer for all: a message for each would take longer than the rest.
struct Gone {
    customer: ResourceArc<Customer>,
    /// A word for each, in their order, and how many are not known yet.
    words: Mutex<(Vec<Atom>, usize)>,
}

impl Gone {
    fn new(customer: ResourceArc<Customer>, count: usize) -> Gone {
        let words = Mutex::new((vec![names::unknown(); count], count));
        Gone { customer, words }
    }

    /// Takes what has become of one. After the last the process is told.
    fn on(&self, machine: &Machine, i: usize, word: Atom) {
        let mut words = self.words.lock();
        words.0[i] = word;
        words.1 -= 1;
        if words.1 == 0 && self.customer.claim() {
            tell(machine, self.customer.pid(), |env, _| {
                self.customer.tagged(env, words.0.encode(env))
            });
        }
    }
}

fn held(machine: &Machine, (parts, holder): HoldParts) -> Result<Hold, Atom> {
    let held = behaviour(machine, parts, HELD)?;
    Ok(Hold { held, holder })
}

fn word(why: Stays) -> Atom {
    match why {
        Stays::Sink => names::sink(),
        Stays::Socket => names::socket(),
        Stays::Safe => names::safe(),
        Stays::Busy => names::busy(),
        Stays::Held => names::held(),
        Stays::NotHeld => names::not_held(),
        Stays::Stale => names::stale(),
        Stays::TooLarge => names::too_large(),
        Stays::NoMemory => names::no_memory(),
    }
}
