//! Messages from actors to processes, actors and customers of other nodes.
//!
//! The BEAM lets native code send to processes of its own node only. So messages for other nodes are left here, in one row of words,
//! and the machine's postman takes it, many messages at a time, and passes it on (lib/mote/machine/postman.ex).
//!
//! Invariants:
//! 1. The postman passes messages on in the order in which they were left. What it takes comes before what it is sent; so once it was
//!    sent something that was left, it takes nothing more until it has come to that.
//! 2. No wake-up is lost: the postman clears `told` only when it finds nothing, under the lock.
//! 3. Nothing is lost: what is left when the machine's threads have ended goes to the postman as messages, behind what it has
//!    taken. It reads these before it ends.
//! 4. A waiting message is outstanding for the machine until the postman has it, and charged to the machine's memory. Where that
//!    is used up, messages are refused and counted, as at an outbox.
use crate::codec::budget::{spent, LARGE, NORMAL};
use crate::deliver::mail::{next_letter, of};
use crate::deliver::message::post;
use crate::deliver::outbox::copy;
use crate::held::copied::Copied;
use crate::held::mailbox::{AtPostman, Departures, Mail, Outbound};
use crate::term::atoms::names;
use crate::term::own_term::OwnTerm;
use crate::term::send::send_in;
use mote_vm::boundary::outbox::Account;
use mote_vm::values::foreign::{Carrier, Delivery};
use mote_vm::Term as VmTerm;
use parking_lot::MutexGuard;
use rustler::{Encoder, Env, LocalPid, Term};
use std::sync::atomic::Ordering;

/// Messages that the postman takes in one call, and of how many parts together: some tenths of a millisecond.
const ROUND: usize = 1_000;

const ROUND_PARTS: usize = 4 * NORMAL;

/// Bytes of words that are charged at once.
const SHEET: usize = 32 * 1024;

/// Leaves messages of one turn for a target of another node, of which nothing is known. `told` gets what became of how many.
pub fn leave<'m>(
    machine: &dyn Carrier,
    target: &OwnTerm,
    mut messages: impl ExactSizeIterator<Item = VmTerm<'m>>,
    told: &mut dyn FnMut(Delivery, u64),
) {
    let Some((mail, account)) =
        of(machine).and_then(|mail| Some((mail, mail.outbound.account.get()?)))
    else {
        return told(Delivery::Dead, messages.len() as u64);
    };
    while messages.len() > 0 {
        let mut departures = mail.outbound.departures.lock();
        if !departures.takes_more(account) {
            return told(Delivery::Full, messages.len() as u64);
        }
        let (count, declined) = departures.inlet.write(&mut messages);
        mail.put_outbound(machine, target, count, departures);
        told(Delivery::Done, count as u64);
        // Without the lock: it needs an environment.
        match declined.map(|message| copy(account, message, machine, false)) {
            Some(Some(copied)) => {
                let mut departures = mail.outbound.departures.lock();
                departures.inlet.bag.letters.add(copied);
                mail.put_outbound(machine, target, 1, departures);
                told(Delivery::Done, 1);
            }
            Some(None) => told(Delivery::Full, 1),
            None => {}
        }
    }
}

impl Departures {
    /// Returns whether there is memory for some more words, and charges for them.
    fn takes_more(&mut self, account: &Account) -> bool {
        let charged = self.charges.len() * SHEET;
        if self.inlet.bag.letters.size() < charged {
            return true;
        }
        let charge = account.charge(SHEET);
        let room = charge.is_some();
        self.charges.extend(charge);
        room
    }
}

impl Mail {
    /// Counts messages that have just been written.
    fn put_outbound(
        &self,
        machine: &dyn Carrier,
        target: &OwnTerm,
        count: usize,
        mut departures: MutexGuard<'_, Departures>,
    ) {
        if count == 0 {
            return;
        }
        machine.leaving(count);
        // Relaxed: a figure for people.
        self.outbound.waiting.fetch_add(count, Ordering::Relaxed);
        let same = |last: &OwnTerm| last.is(target);
        let (_, wake) = departures.inlet.count(count, same, || target.clone());
        drop(departures);
        if let Some(postman) = self.postman.get().filter(|_| wake) {
            post(postman, |env, _| names::abroad().to_term(env));
        }
    }
}

/// A part of the messages left for other nodes.
pub struct Portion<'a> {
    /// `{target, messages}` each.
    rows: Vec<Term<'a>>,
    /// A large message that follows the rows. The postman gets it in a message of its own, so that it is not copied.
    large: Option<OwnTerm>,
    more: bool,
}

impl Outbound {
    /// Returns rows for the postman, in a NIF of its own, and whether there may be more. A large message is sent to it instead.
    pub fn take_some<'a>(
        &self,
        env: Env<'a>,
        machine: &dyn Carrier,
        postman: &LocalPid,
    ) -> Term<'a> {
        let mut taken = self.taken.lock();
        if taken.is_handed_over {
            return (Vec::<Term<'a>>::new(), false).encode(env);
        }
        let some = self.take(env, machine, &mut taken);
        if let Some(large) = some.large {
            large.send(postman);
        }
        (some.rows, some.more).encode(env)
    }

    /// Sends the postman, as messages, what it has not taken, in a NIF of another process.
    pub fn hand_over(&self, env: Env<'_>, machine: &dyn Carrier, postman: &LocalPid) {
        let mut taken = self.taken.lock();
        // Invariant 1.
        taken.is_handed_over = true;
        loop {
            let some = self.take(env, machine, &mut taken);
            if !some.rows.is_empty() {
                send_in(env, postman, (names::abroad(), some.rows).encode(env));
            }
            if let Some(large) = some.large {
                large.send(postman);
            }
            if !some.more {
                break;
            }
        }
    }

    /// Takes all messages that were left. Returns whether there were any.
    fn refill(&self, taken: &mut AtPostman) -> bool {
        taken.bag.letters.clear();
        taken.charges.clear();
        let mut departures = self.departures.lock();
        std::mem::swap(&mut departures.charges, &mut taken.charges);
        departures.inlet.refill(&mut taken.bag)
    }

    fn take<'a>(&self, env: Env<'a>, machine: &dyn Carrier, taken: &mut AtPostman) -> Portion<'a> {
        let (mut rows, mut count, mut parts) = (Vec::new(), 0, 0);
        let (mut made, mut large) = (Vec::new(), None);
        let more = loop {
            if count >= ROUND || parts >= ROUND_PARTS || large.is_some() {
                break true;
            }
            let Some((target, row)) = taken.bag.rows.front_mut() else {
                match self.refill(taken) {
                    true => continue,
                    false => break false,
                }
            };
            let mut messages = Vec::new();
            while *row > 0 && count < ROUND && parts < ROUND_PARTS && large.is_none() {
                *row -= 1;
                count += 1;
                let words = taken.bag.letters.unread();
                match next_letter(env, &mut taken.bag.letters, &mut made) {
                    (Some(copied), _) if copied.nodes > LARGE => {
                        large = Some(alone(target, copied))
                    }
                    (Some(copied), _) => {
                        parts += copied.nodes;
                        messages.push(copied.term.to(env));
                    }
                    // SAFETY: made in `env` just now.
                    (None, Some(term)) => messages.push(unsafe { Term::new(env, term) }),
                    // No letter is empty.
                    (None, None) => {}
                }
                parts += words - taken.bag.letters.unread();
            }
            if !messages.is_empty() {
                rows.push((target.to(env), messages).encode(env));
            }
            if *row == 0 {
                taken.bag.rows.pop_front();
            }
        };
        spent(env, parts);
        // Relaxed: a figure for people.
        self.waiting.fetch_sub(count, Ordering::Relaxed);
        machine.have_left(count, 0);
        Portion { rows, large, more }
    }
}

/// A row of one large message, as a message to the postman.
fn alone(target: &OwnTerm, mut copied: Copied) -> OwnTerm {
    copied.term.extend(|env, message| {
        let row = (target.to(env), vec![message]).encode(env);
        (names::abroad(), vec![row]).encode(env)
    });
    copied.term
}
