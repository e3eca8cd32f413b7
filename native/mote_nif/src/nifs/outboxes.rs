//! Outboxes: a process takes messages of actors in batches, after one wake-up.
use crate::codec::budget::{spent, LARGE, NORMAL};
use crate::codec::letters::build;
use crate::held::large_letter::LargeLetter;
use crate::held::machine::MachineResource;
use crate::held::outbox::{OutboxResource, Writable};
use crate::held::structs;
use crate::term::atoms::names;
use crate::term::resource::ResourceArc;
use mote_vm::boundary::outbox::{Outbox, Part, ReadEnd};
use rustler::sys::{enif_make_list_from_array, ErlNifTerm};
use rustler::{Atom, Encoder, Env, Term};
use std::sync::Arc;

/// An outbox of the calling process: `%Mote.Outbox{}`, `:stopped` or `:stopping`.
#[rustler::nif]
fn outbox_open<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    capacity: u64,
    holds: bool,
) -> Term<'a> {
    let account = match machine.open(env) {
        Ok(running) => running.account(),
        Err(word) => return word.encode(env),
    };
    let outbox = Arc::new(Outbox::new(capacity, holds, account.clone()));
    machine.has_outbox(&outbox);
    let outbox = ResourceArc::new(OutboxResource {
        outbox,
        account,
        owner: env.pid(),
        machine,
    });
    if !outbox.monitor(env, &env.pid()) {
        outbox.abandon();
    }
    structs::outbox(env, &outbox)
}

/// The message of a large letter.
#[rustler::nif(schedule = "DirtyCpu")]
fn outbox_letter<'a>(env: Env<'a>, letter: &LargeLetter) -> Term<'a> {
    letter.0.to(env)
}

/// Takes at most `max` messages. Also returns why there are no more: `:more` (call again), `:enough`, `:empty` (the owner will be
/// notified when there are) or `:closed`. Instead of why, it may return a letter: its message is the next one, and is taken by
/// `outbox_letter`.
#[rustler::nif]
fn outbox_take<'a>(env: Env<'a>, outbox: ResourceArc<OutboxResource>, max: u64) -> Term<'a> {
    let mut wanted = max;
    let mut parts = 0;
    let mut made: Vec<ErlNifTerm> = Vec::new();
    let mut large = None;
    let rest = outbox.outbox.take(|part| {
        parts += 1;
        match part {
            None if wanted == 0 || parts > NORMAL || large.is_some() => false,
            None => {
                wanted -= 1;
                true
            }
            // Nothing else is in a letter that has such a part.
            Some(Part::Other(copied)) if copied.nodes > LARGE => {
                large = Some(copied.term);
                true
            }
            Some(part) => {
                if let Part::Row(row) = &part {
                    parts += row.len();
                }
                let term = build(env, part, &mut made);
                made.push(term);
                true
            }
        }
    });
    spent(env, parts);
    let why = match (large, rest) {
        (Some(term), _) => ResourceArc::new(LargeLetter(term)).encode(env),
        (None, ReadEnd::Enough) if wanted > 0 => names::more_left().encode(env),
        (None, ReadEnd::Enough) => names::enough().encode(env),
        (None, ReadEnd::Empty) => names::empty().encode(env),
        (None, ReadEnd::Closed) => names::closed().encode(env),
    };
    // SAFETY: everything was made in `env`, one term for each message.
    let list = unsafe {
        let list = enif_make_list_from_array(env.as_c_arg(), made.as_ptr(), made.len() as u32);
        Term::new(env, list)
    };
    (list, why).encode(env)
}

/// Takes no more messages; those that wait can still be taken. The owner is woken.
#[rustler::nif]
fn outbox_close(outbox: ResourceArc<OutboxResource>) -> Atom {
    outbox.outbox.close();
    // Here, so that a process that is killed between the two leaves no reader waiting.
    Writable(outbox).wake();
    names::ok()
}

/// `{owner, capacity, waiting, received, overflowed, closed}`
#[rustler::nif]
fn outbox_info<'a>(env: Env<'a>, outbox: ResourceArc<OutboxResource>) -> Term<'a> {
    let info = outbox.outbox.info();
    (
        outbox.owner,
        info.capacity,
        info.waiting,
        info.received,
        info.overflowed,
        // The machine whose actors could write to it has ended.
        info.closed || outbox.machine.running().is_none(),
    )
        .encode(env)
}
