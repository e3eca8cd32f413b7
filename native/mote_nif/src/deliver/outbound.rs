//! Messages from actors to processes, actors and customers of other nodes.
//!
//! The BEAM lets native code send to processes of its own node only. So what is for other nodes is left here, in one row of words,
//! and the machine's postman takes it, many messages at a time, and passes it on (lib/mote/machine/postman.ex).
//!
//! Invariants:
//! 1. The postman takes messages in the order in which they were left.
//! 2. No wake-up is lost: the postman clears `told` only when it finds nothing, under the lock.
//! 3. Nothing is lost: what is left when the machine's threads have ended goes to the postman as messages, behind what it has
//!    taken. It reads these before it ends.
//! 4. A waiting message is outstanding for the machine until the postman has it.
use crate::codec::decode::Decoder;
use crate::deliver::mail::{next_letter, of, Letter};
use crate::deliver::message::post;
use crate::held::mailbox::{Bag, Departures, Mail, Outbound};
use crate::term::atoms::names;
use crate::term::own_term::OwnTerm;
use crate::term::send::send_in;
use mote_vm::boundary::outbox::Letters;
use mote_vm::values::foreign::{Carrier, Delivery};
use mote_vm::Term as VmTerm;
use parking_lot::MutexGuard;
use rustler::{Encoder, Env, Term};
use std::sync::atomic::Ordering;

/// Messages that are written while others wait: a microsecond or two.
const MESSAGES_AT_ONCE: usize = 64;

/// Leaves messages of one turn for a target of another node, of which nothing is known; what became of how many goes to `told`.
pub fn leave<'m>(
    machine: &dyn Carrier,
    target: &OwnTerm,
    mut messages: impl ExactSizeIterator<Item = VmTerm<'m>>,
    told: &mut dyn FnMut(Delivery, u64),
) {
    let Some(mail) = of(machine).filter(|mail| mail.postman.get().is_some()) else {
        return told(Delivery::Dead, messages.len() as u64);
    };
    while messages.len() > 0 {
        let (mut count, mut declined) = (0, None);
        let mut entrance = mail.outbound.entrance.lock();
        for message in messages.by_ref().take(MESSAGES_AT_ONCE) {
            if !entrance.bag.letters.write(message) {
                declined = Some(message);
                break;
            }
            count += 1;
        }
        mail.put_outbound(machine, target, count, entrance);
        // Without the lock: it needs an environment.
        let copied = declined.and_then(|message| {
            OwnTerm::make(|env| Some(Decoder::for_what_waits().term(env, machine, message)))
        });
        if let Some(copied) = copied {
            let mut entrance = mail.outbound.entrance.lock();
            entrance.bag.letters.add(copied);
            mail.put_outbound(machine, target, 1, entrance);
            count += 1;
        }
        told(Delivery::Done, count as u64);
    }
}

impl Mail {
    /// Counts what has just been written.
    fn put_outbound(
        &self,
        machine: &dyn Carrier,
        target: &OwnTerm,
        count: usize,
        mut entrance: MutexGuard<'_, Departures>,
    ) {
        if count == 0 {
            return;
        }
        machine.leaving(count);
        // Relaxed: a figure for people.
        self.outbound.waiting.fetch_add(count, Ordering::Relaxed);
        match entrance.bag.rows.back_mut() {
            Some((last, row)) if last.is(target) => *row += count,
            _ => entrance.bag.rows.push_back((target.clone(), count)),
        }
        let wake = !std::mem::replace(&mut entrance.told, true);
        drop(entrance);
        if let Some(postman) = self.postman.get().filter(|_| wake) {
            post(postman, |env, _| names::abroad().to_term(env));
        }
    }
}

impl Outbound {
    /// Takes what has been left; whether there was anything.
    fn refill(&self, taken: &mut Bag<OwnTerm>) -> bool {
        taken.letters.clear();
        let mut entrance = self.entrance.lock();
        std::mem::swap(&mut entrance.bag, taken);
        entrance.told = !taken.rows.is_empty();
        entrance.told
    }

    /// Takes at most that many messages, in a NIF: a list of `{target, messages}`, and whether there may be more.
    pub fn take<'a>(
        &self,
        env: Env<'a>,
        machine: &dyn Carrier,
        at_most: usize,
    ) -> (Vec<Term<'a>>, bool) {
        let mut taken = self.taken.lock();
        let (mut rows, mut count) = (Vec::new(), 0);
        let more = loop {
            let Some((target, row)) = taken.rows.front().cloned() else {
                match self.refill(&mut taken) {
                    true => continue,
                    false => break false,
                }
            };
            let now = row.min(at_most - count);
            let messages = read(env, &mut taken.letters, now);
            rows.push((target.to(env), messages).encode(env));
            count += now;
            if now < row {
                taken.rows[0].1 -= now;
                break true;
            }
            taken.rows.pop_front();
        };
        // Relaxed: a figure for people.
        self.waiting.fetch_sub(count, Ordering::Relaxed);
        machine.have_left(count, 0);
        (rows, more)
    }

    /// Sends the postman, as messages, what it has not taken, in a NIF.
    pub fn hand_over(&self, env: Env<'_>, machine: &dyn Carrier, mail: &Mail, at_most: usize) {
        let Some(postman) = mail.postman.get() else {
            return;
        };
        loop {
            let (rows, more) = self.take(env, machine, at_most);
            if !rows.is_empty() {
                send_in(env, postman, (names::abroad(), rows).encode(env));
            }
            if !more {
                break;
            }
        }
    }
}

fn read<'a>(env: Env<'a>, letters: &mut Letters<OwnTerm>, count: usize) -> Vec<Term<'a>> {
    let mut made = Vec::new();
    (0..count)
        .filter_map(|_| next_letter(env, letters, &mut made))
        .map(|letter| match letter {
            Letter::Whole(own) => own.to(env),
            // SAFETY: made in `env` just now.
            Letter::Made(term) => unsafe { Term::new(env, term) },
        })
        .collect()
}
