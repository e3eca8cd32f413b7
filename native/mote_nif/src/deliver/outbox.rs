//! Messages that actors put into outboxes, and that a process takes in batches, after one wake-up.
use crate::codec::decode::Decoder;
use crate::deliver::message::post;
use crate::held::copied::Copied;
use crate::held::order::compare;
use crate::held::outbox::Writable;
use crate::held::structs;
use crate::term::atoms::names;
use crate::term::own_term::{OwnTerm, ENVIRONMENT};
use mote_vm::boundary::outbox::{Account, Posted};
use mote_vm::values::foreign::{
    Carrier, Class, Delivery, Foreign, HeldPlaces, HoldingReceiver, Messages,
};
use mote_vm::Term as VmTerm;
use rustler::Encoder;
use std::cmp::Ordering;
use std::sync::Arc;

/// Letters that are written while the reader waits: a microsecond or two.
const LETTERS_AT_ONCE: usize = 64;

impl Writable {
    pub fn wake(&self) {
        post(&self.0.owner, |env, decoder| {
            decoder.keep();
            (names::wake_up(), structs::outbox(env, &self.0)).encode(env)
        });
    }

    /// The machine had no memory for that many letters.
    fn refused(&self, count: u64) {
        if let Some(machine) = self.0.machine.any() {
            machine.lacked_memory(count);
        }
    }
}

/// A copy of a message that is to wait, charged to that account; `None` when there is no memory for it, and it is not to be had
/// `anyway`.
pub fn copy(
    account: &Account,
    message: VmTerm<'_>,
    machine: &dyn Carrier,
    anyway: bool,
) -> Option<Copied> {
    let mut decoder = Decoder::for_what_waits();
    let term = OwnTerm::make(|env| Some(decoder.term(env, machine, message)))?;
    let bytes = ENVIRONMENT + decoder.size();
    let charge = match anyway {
        true => account.charge_anyway(bytes),
        false => account.charge(bytes)?,
    };
    Some(Copied {
        term,
        _charge: charge,
        nodes: decoder.nodes(),
    })
}

/// Returns the delivery of a letter, and whether the owner must be woken.
fn outcome(posted: Posted) -> (Delivery, bool) {
    match posted {
        Posted::Waits { wake } => (Delivery::Done, wake),
        Posted::Full | Posted::NoMemory => (Delivery::Full, false),
        Posted::Closed | Posted::Declined => (Delivery::Dead, false),
    }
}

impl Foreign for Writable {
    fn class(&self) -> Class {
        Class::Address
    }
    fn is_address(&self) -> bool {
        true
    }
    fn deliver(&self, message: VmTerm<'_>, machine: &dyn Carrier) -> Delivery {
        let outbox = &self.0.outbox;
        let mut posted = outbox.post(|letters| letters.write(message));
        if posted == Posted::Declined {
            posted = match copy(&self.0.account, message, machine, outbox.holds()) {
                Some(copy) => outbox.post(|letters| letters.add(copy)),
                None => outbox.refuse(),
            };
        }
        if posted == Posted::NoMemory {
            self.refused(1);
        }
        let (delivery, wake) = outcome(posted);
        if wake {
            self.wake();
        }
        delivery
    }
    fn deliver_all(
        &self,
        mut messages: Messages<'_>,
        machine: &dyn Carrier,
        told: &mut dyn FnMut(Delivery, u64),
    ) {
        while messages.len() > 0 {
            let (mut wakes, mut written, mut refused, mut declined) = (false, 0, 0, None);
            let mut guard = self.0.outbox.write_guard();
            for message in messages.by_ref().take(LETTERS_AT_ONCE) {
                match guard.post(|letters| letters.write(message)) {
                    Posted::Waits { wake } => {
                        wakes |= wake;
                        written += 1;
                    }
                    Posted::Declined => {
                        declined = Some(message);
                        break;
                    }
                    Posted::NoMemory => refused += 1,
                    posted => told(outcome(posted).0, 1),
                }
            }
            drop(guard);
            told(Delivery::Done, written);
            if refused > 0 {
                told(Delivery::Full, refused);
                self.refused(refused);
            }
            if wakes {
                self.wake();
            }
            // Without the lock: it needs an environment.
            if let Some(message) = declined {
                told(self.deliver(message, machine), 1);
            }
        }
    }
    fn holding(&self) -> Option<&dyn HoldingReceiver> {
        self.0.outbox.holds().then_some(self)
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        compare(self, other)
    }
}

impl HoldingReceiver for Writable {
    fn memory_left(&self) -> usize {
        self.0.account.left()
    }
    fn count_held(&self, places: Arc<dyn HeldPlaces>) {
        self.0.outbox.count_surplus(Some(places));
    }
}
