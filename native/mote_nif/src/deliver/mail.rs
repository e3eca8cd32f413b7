//! Mail: messages from actors to processes that are sent by the machine's postman, a process of its own.
//!
//! Sending a message costs a dispatch thread several times what it costs a scheduler. The allocator of such threads is shared and
//! locked, also by the thread that frees the message, and the receiver must be kept from ending meanwhile. So a dispatch thread
//! sends occasional messages itself, and leaves messages that come in a rush here, in one row of words that the postman sends
//! from. One message for several processes is made once, and the postman sends copies of it.
//!
//! Invariants:
//! 1. Messages of one thread to one process arrive in the order in which they were sent: while any wait for a process,
//!    those that follow wait as well. It is among the `receivers` from before its messages can be taken until they have
//!    been sent; and their sender makes no difference to the BEAM (term/send.rs, invariant 1).
//! 2. No wake-up is lost: the postman clears `told` only when it finds nothing, under the lock.
//! 3. Nothing is lost: messages that the postman leaves behind are sent by the process that joins the machine, whose threads have
//!    ended then.
//! 4. A waiting message is outstanding for the machine, from before it can be taken until it has been sent.
use crate::codec::budget::NORMAL;
use crate::codec::decode::Decoder;
use crate::codec::letters::build_with;
use crate::deliver::message::{post, try_post};
use crate::held::bridge::Bridge;
use crate::held::mailbox::{Bag, Fan, FanMessage, Incoming, Mail, Receiver};
use crate::term::assembly::Assembled;
use crate::term::atoms::names;
use crate::term::own_term::OwnTerm;
use crate::term::send::send_as_nobody;
use mote_vm::boundary::outbox::{Letters, Part};
use mote_vm::values::foreign::{Carrier, Delivery};
use mote_vm::Term as VmTerm;
use parking_lot::MutexGuard;
use rustler::sys::ErlNifTerm;
use rustler::thread::is_scheduler_thread;
use rustler::{Env, LocalPid, Term};
use std::cell::Cell;
use std::slice::from_ref;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Messages that are a rush within the time below: about what the thread can send itself. The postman is awake by then.
const RUSH: usize = 16;

const RUSH_TIME: Duration = Duration::from_micros(50);

/// Messages that the postman sends in one call: a tenth of a millisecond or two.
pub const ROUND: usize = 1_000;

/// Percentage of a scheduler's time slice that such a round takes.
pub const ROUND_PERCENT: i32 = 15;

/// The mail left when the postman has sent some.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MailLeft {
    /// No message, for now.
    Nothing,
    /// Perhaps some messages.
    Some,
    /// A message that takes long to finish, or to copy to all who get it, is next.
    Large,
}

/// The rate at which a thread sends to processes.
#[derive(Clone, Copy, Default)]
struct SendingRate {
    count: usize,
    since: Option<Instant>,
    rush: bool,
}

thread_local! {
    static RATE: Cell<SendingRate> = const { Cell::new(SendingRate { count: 0, since: None, rush: false }) };
}

/// Returns whether this thread is in a rush with `count` more messages. For occasional messages the clock is not read.
fn rushes(count: usize) -> bool {
    let mut rate = RATE.get();
    rate.count += count;
    let full = rate.count >= RUSH;
    if full || rate.rush {
        let now = Instant::now();
        rate.rush = rate.since.is_some_and(|since| now - since < RUSH_TIME);
        if full {
            (rate.count, rate.since) = (0, Some(now));
        }
    }
    RATE.set(rate);
    rate.rush || count >= RUSH
}

/// The mail of a machine.
pub fn of(machine: &dyn Carrier) -> Option<&Mail> {
    let bridge = machine.embedder().downcast_ref::<Bridge>()?;
    Some(&bridge.mail)
}

/// Sends messages of one turn to a process, in their order. `told` gets what became of how many.
pub fn send<'m>(
    machine: &dyn Carrier,
    pid: &LocalPid,
    messages: impl ExactSizeIterator<Item = VmTerm<'m>>,
    told: &mut dyn FnMut(Delivery, u64),
) {
    match of(machine) {
        Some(mail) if mail.takes(from_ref(pid), messages.len()) => {
            mail.leave(machine, pid, messages, told)
        }
        _ => messages.for_each(|message| {
            let there = tell(machine, pid, |env, decoder| {
                decoder.message(env, machine, message)
            });
            told(outcome(there), 1);
        }),
    }
}

/// Sends one message of a turn to each of these processes: it is made once. `told` gets what became of how many.
pub fn send_to_each(
    machine: &dyn Carrier,
    pids: Vec<LocalPid>,
    message: VmTerm<'_>,
    told: &mut dyn FnMut(Delivery, u64),
) {
    if pids.is_empty() {
        return;
    }
    let count = pids.len();
    let mail = of(machine);
    let may_leave = mail.is_some_and(|mail| mail.postman.get().is_some());
    let build = leaving(may_leave, |env, decoder| {
        decoder.message(env, machine, message)
    });
    let message = match mail {
        Some(mail) if mail.takes(&pids, count) => {
            let mut letter = Letters::default();
            match letter.write(message) {
                true => FanMessage::Letter(letter),
                false => FanMessage::Made(assembled(build)),
            }
        }
        _ => match try_post(&pids, build) {
            Ok(there) => {
                told(Delivery::Done, there as u64);
                return told(Delivery::Dead, (count - there) as u64);
            }
            Err(message) => FanMessage::Made(message),
        },
    };
    match mail {
        Some(mail) => mail.leave_to_each(machine, Fan { message, pids }),
        // Nothing is left unfinished then.
        None => return told(Delivery::Dead, count as u64),
    }
    told(Delivery::Done, count as u64);
}

/// Sends the message that `build` makes to a process, after the mail that waits for it. Returns whether the process is there, as far as
/// is known.
pub fn tell(
    machine: &dyn Carrier,
    pid: &LocalPid,
    build: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>,
) -> bool {
    let waits = |mail: &Mail| mail.is_waited_for_by(from_ref(pid));
    tell_after(machine, pid, waits, build)
}

/// Sends the message that `build` makes to a process, after all mail that waits for any process.
pub fn tell_last(
    machine: &dyn Carrier,
    pid: &LocalPid,
    build: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>,
) -> bool {
    // Acquire: as in `is_waited_for_by`.
    let waits = |mail: &Mail| mail.waiting.load(Ordering::Acquire) > 0;
    tell_after(machine, pid, waits, build)
}

fn tell_after(
    machine: &dyn Carrier,
    pid: &LocalPid,
    waits: impl Fn(&Mail) -> bool,
    build: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>,
) -> bool {
    let Some(mail) = of(machine) else {
        return post(pid, build);
    };
    // The postman finishes what is left unfinished, as this thread would in ten times the time.
    let build = leaving(mail.postman.get().is_some(), build);
    let message = match waits(mail) {
        true => assembled(build),
        false => match try_post(from_ref(pid), build) {
            Ok(there) => return there == 1,
            Err(message) => message,
        },
    };
    mail.leave_assembled(machine, pid, message);
    true
}

/// Wraps `build` so that its message may be left unfinished if it `may_leave`.
fn leaving(
    may_leave: bool,
    build: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>,
) -> impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a> {
    move |env, decoder| {
        if may_leave {
            decoder.may_leave();
        }
        build(env, decoder)
    }
}

/// Returns whether messages of a machine for that process wait to be sent. A message to it then goes behind them.
pub fn is_waited_for_by(machine: &dyn Carrier, pid: &LocalPid) -> bool {
    of(machine).is_some_and(|mail| mail.is_waited_for_by(from_ref(pid)))
}

/// Builds a message in an environment of its own.
pub fn assembled(build: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>) -> Assembled {
    let mut decoder = Decoder::default();
    let term = OwnTerm::make_always(|env| build(env, &mut decoder));
    Assembled::new(term, decoder.unfinished())
}

fn outcome(there: bool) -> Delivery {
    match there {
        true => Delivery::Done,
        false => Delivery::Dead,
    }
}

impl Mail {
    /// Returns the number of messages that wait.
    pub fn waiting(&self) -> usize {
        // Relaxed: a figure for people.
        self.waiting.load(Ordering::Relaxed) + self.outbound.waiting.load(Ordering::Relaxed)
    }

    /// Returns whether messages for any of these processes wait.
    fn is_waited_for_by(&self, pids: &[LocalPid]) -> bool {
        // Acquire: a thread that finds none waiting sends after the postman has sent (`deliver`).
        if self.waiting.load(Ordering::Acquire) == 0 {
            return false;
        }
        let receivers = &self.incoming.lock().receivers;
        pids.iter().any(|pid| receivers.contains_key(pid))
    }

    /// Returns whether `count` messages for these processes should wait for the postman.
    fn takes(&self, pids: &[LocalPid], count: usize) -> bool {
        // A scheduler sends cheaply itself.
        let rush = rushes(count) && self.postman.get().is_some() && !is_scheduler_thread();
        rush || self.is_waited_for_by(pids)
    }

    fn leave<'m>(
        &self,
        machine: &dyn Carrier,
        pid: &LocalPid,
        mut messages: impl ExactSizeIterator<Item = VmTerm<'m>>,
        told: &mut dyn FnMut(Delivery, u64),
    ) {
        while messages.len() > 0 {
            let mut incoming = self.incoming.lock();
            let (count, declined) = incoming.inlet.write(&mut messages);
            self.put(machine, Receiver::One(*pid), count, incoming);
            told(Delivery::Done, count as u64);
            // Without the lock: it needs an environment.
            if let Some(message) = declined {
                let there = tell(machine, pid, |env, decoder| {
                    decoder.term(env, machine, message)
                });
                told(outcome(there), 1);
            }
        }
    }

    /// Leaves a message that is a term already.
    pub fn leave_assembled(&self, machine: &dyn Carrier, pid: &LocalPid, message: Assembled) {
        let mut incoming = self.incoming.lock();
        incoming.inlet.bag.letters.add(message);
        self.put(machine, Receiver::One(*pid), 1, incoming);
    }

    fn leave_to_each(&self, machine: &dyn Carrier, fan: Fan) {
        let count = fan.pids.len();
        let receiver = Receiver::Each(Box::new(fan));
        self.put(machine, receiver, count, self.incoming.lock());
    }

    /// Counts messages that have just been written.
    fn put(
        &self,
        machine: &dyn Carrier,
        receiver: Receiver,
        count: usize,
        mut incoming: MutexGuard<'_, Incoming>,
    ) {
        if count == 0 {
            return;
        }
        machine.leaving(count);
        // Relaxed: the thread itself sees it, and others do not mind.
        self.waiting.fetch_add(count, Ordering::Relaxed);
        let Incoming { inlet, receivers } = &mut *incoming;
        let row = receiver.of_row();
        let same = |last: &Receiver| row.is_some() && last.of_row() == row;
        let (new, wake) = inlet.count(count, same, || receiver);
        if let Some((receiver, _)) = inlet.bag.rows.back().filter(|_| new) {
            for pid in receiver.pids() {
                *receivers.entry(*pid).or_default() += 1;
            }
        }
        drop(incoming);
        if let Some(postman) = self.postman.get().filter(|_| wake) {
            post(postman, |env, _| names::mail().to_term(env));
        }
    }

    /// Takes all mail that was left. Returns whether there was any.
    fn refill(&self, taken: &mut Bag<Receiver, Assembled>) -> bool {
        taken.letters.clear();
        self.incoming.lock().inlet.refill(taken)
    }

    /// Sends at most `at_most` messages, in a NIF. It `may_take_long` on a dirty scheduler, where large messages are finished.
    pub fn deliver(
        &self,
        env: Env<'_>,
        machine: &dyn Carrier,
        at_most: usize,
        may_take_long: bool,
    ) -> MailLeft {
        let mut taken = self.taken.lock();
        let (mut count, mut undelivered) = (0, 0);
        let (mut done, mut made) = (Vec::new(), Vec::new());
        let more = loop {
            let Bag { letters, rows } = &mut *taken;
            let Some((receiver, row)) = rows.front_mut() else {
                match self.refill(&mut taken) {
                    true => continue,
                    false => break MailLeft::Nothing,
                }
            };
            let (mut now, most) = (0, (*row).min(at_most - count));
            let is_large = |next: Option<&Assembled>| {
                !may_take_long && next.is_some_and(|next| next.steps() > NORMAL)
            };
            match receiver {
                Receiver::One(pid) => {
                    while now < most && !is_large(letters.next_other()) {
                        let there = send_letter(env, pid, letters, &mut made);
                        undelivered += u64::from(!there);
                        now += 1;
                    }
                }
                Receiver::Each(fan) if is_large(fan.message.as_assembled()) => {}
                Receiver::Each(fan) => {
                    let from = fan.pids.len() - *row;
                    let (sent, gone) = fan.send_some(env, from..from + most, may_take_long);
                    (now, undelivered) = (sent, undelivered + gone);
                }
            }
            count += now;
            *row -= now;
            if *row > 0 {
                break match now < most {
                    true => MailLeft::Large,
                    false => MailLeft::Some,
                };
            }
            done.extend(rows.pop_front());
        };
        let mut incoming = self.incoming.lock();
        for pid in done.iter().flat_map(|(receiver, _)| receiver.pids()) {
            if let Some(rows) = incoming.receivers.get_mut(pid) {
                *rows -= 1;
                if *rows == 0 {
                    incoming.receivers.remove(pid);
                }
            }
        }
        drop(incoming);
        // Release: what was sent, was sent before (`is_waited_for_by`).
        self.waiting.fetch_sub(count, Ordering::Release);
        machine.have_left(count, undelivered);
        more
    }
}

/// Sends the next letter, in a NIF. Returns whether the process is there.
fn send_letter(
    env: Env<'_>,
    pid: &LocalPid,
    letters: &mut Letters<Assembled>,
    made: &mut Vec<ErlNifTerm>,
) -> bool {
    match next_letter(env, letters, made) {
        (Some(message), _) => message.send(pid),
        // SAFETY: the message belongs to the environment of the running NIF.
        (None, Some(message)) => unsafe { send_as_nobody(pid, None, message) },
        // No letter is empty.
        (None, None) => true,
    }
}

/// The next letter: as the embedder has copied it, or as a term that is made in `env`.
pub fn next_letter<F>(
    env: Env<'_>,
    letters: &mut Letters<F>,
    made: &mut Vec<ErlNifTerm>,
) -> (Option<F>, Option<ErlNifTerm>) {
    let mut whole = None;
    letters.read(|part| match part {
        // Nothing else is in a letter that has such a part.
        Part::Other(own) => whole = Some(own),
        part => {
            let nothing = |_| names::nil().to_term(env);
            let term = build_with(env, part, made, nothing);
            made.push(term);
        }
    });
    (whole, made.pop())
}
