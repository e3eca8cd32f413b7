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
use crate::held::mailbox::{Bag, Entrance, Mail, Outbound};
use crate::term::atoms::names;
use crate::term::own_term::OwnTerm;
use crate::term::send::send_in;
use mote_vm::boundary::outbox::Letters;
use mote_vm::values::foreign::{Carrier, Delivery};
use mote_vm::Term as VmTerm;
use parking_lot::MutexGuard;
use rustler::{Encoder, Env, Term};
use std::sync::atomic::Ordering;

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
        let mut entrance = mail.outbound.entrance.lock();
        let (mut count, declined) = entrance.write(&mut messages);
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
        mut entrance: MutexGuard<'_, Entrance<OwnTerm>>,
    ) {
        if count == 0 {
            return;
        }
        machine.leaving(count);
        // Relaxed: a figure for people.
        self.outbound.waiting.fetch_add(count, Ordering::Relaxed);
        let (_, wake) = entrance.count(count, |last| last.is(target), || target.clone());
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
        self.entrance.lock().refill(taken)
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
