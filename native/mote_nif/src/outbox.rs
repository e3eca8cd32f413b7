//! Outboxes: where a process takes what actors have sent it in batches, after one wake-up.
use crate::aside::{aside, let_go};
use crate::atoms::{self, names};
use crate::decode::Decoder;
use crate::encode::{spent, LARGE, NORMAL};
use crate::foreign::bytes;
use crate::message::post;
use crate::order::compare;
use crate::own_term::{OwnTerm, ENVIRONMENT};
use crate::resources::MachineResource;
use crate::terms;
use mote_vm::boundary::outbox::{Account, Charge, Letters, Outbox, Part, Plain, Posted, Rest};
use mote_vm::machine::Machine;
use mote_vm::values::foreign::{Class, Delivery, Foreign, Messages};
use mote_vm::Term as Value;
use rustler::sys::{
    enif_make_list_cell, enif_make_list_from_array, enif_make_tuple_from_array, ErlNifTerm,
};
use rustler::{Atom, Encoder, Env, LocalPid, Monitor, Resource, ResourceArc, Term};
use std::any::Any;
use std::cmp::Ordering;

/// Letters that are written while the reader waits: a microsecond or two.
const AT_ONCE: usize = 64;

/// A message that is no small and plain value, and what it is charged with.
struct Copied {
    term: OwnTerm,
    _charge: Charge,
    /// Whether it takes long to copy.
    large: bool,
}

impl AsRef<OwnTerm> for Copied {
    fn as_ref(&self) -> &OwnTerm {
        &self.term
    }
}

/// An outbox, and the process that reads it.
pub struct OutboxResource {
    outbox: Outbox<Copied>,
    account: Account,
    owner: LocalPid,
    machine: ResourceArc<MachineResource>,
}

impl OutboxResource {
    /// The machine whose actors write to it.
    pub fn machine(&self) -> &ResourceArc<MachineResource> {
        &self.machine
    }

    /// Closes it, and forgets what waits; how many letters that was.
    fn abandon(&self) -> u64 {
        let lost = self.outbox.abandon();
        let count = lost.count;
        let_go(lost, count as usize);
        count
    }
}

#[rustler::resource_impl]
impl Resource for OutboxResource {
    const IMPLEMENTS_DESTRUCTOR: bool = true;
    const IMPLEMENTS_DOWN: bool = true;

    // The owner has ended: nobody reads any more.
    fn down<'a>(&'a self, _env: Env<'a>, _pid: LocalPid, _monitor: Monitor) {
        let lost = self.abandon();
        if let Some(machine) = self.machine.any() {
            machine.count_undelivered(lost);
        }
    }

    // Nobody has it any more, to write or to read.
    fn destructor(self, _env: Env<'_>) {
        self.abandon();
    }
}

/// An outbox as actors have it.
pub struct Writable(pub ResourceArc<OutboxResource>);

impl Writable {
    /// What tells outboxes apart.
    pub fn identity(&self) -> usize {
        self.0.as_c_arg() as usize
    }

    fn wake(&self) {
        post(&self.0.owner, |env, decoder| {
            decoder.keep();
            (names::wake_up(), terms::outbox(env, &self.0)).encode(env)
        });
    }

    /// A copy of a message; `None` when there is no memory for it.
    fn copy(&self, message: Value<'_>, machine: &Machine) -> Option<Copied> {
        let mut decoder = Decoder::for_what_waits();
        let term = OwnTerm::make(|env| Some(decoder.term(env, machine, message)))?;
        let charge = self.0.account.charge(ENVIRONMENT + decoder.size())?;
        Some(Copied {
            term,
            _charge: charge,
            large: decoder.nodes() > LARGE,
        })
    }

    /// The machine had no memory for so many letters.
    fn refused(&self, count: u64) {
        if let Some(machine) = self.0.machine.any() {
            machine.lacked_memory(count);
        }
    }
}

/// What a letter has come to, and whether the owner is to be woken.
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
    fn deliver(&self, message: Value<'_>, machine: &Machine) -> Delivery {
        let outbox = &self.0.outbox;
        let mut posted = outbox.post(|letters| letters.write(message));
        if posted == Posted::Declined {
            posted = match self.copy(message, machine) {
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
        machine: &Machine,
        told: &mut dyn FnMut(Delivery, u64),
    ) {
        while messages.len() > 0 {
            let (mut wakes, mut written, mut refused, mut declined) = (false, 0, 0, None);
            let mut pen = self.0.outbox.pen();
            for message in messages.by_ref().take(AT_ONCE) {
                match pen.post(|letters| letters.write(message)) {
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
            drop(pen);
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
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        compare(self, other)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// An outbox of the calling process: `%Mote.Outbox{}`, or `:stopped`.
#[rustler::nif]
fn outbox_open<'a>(env: Env<'a>, machine: ResourceArc<MachineResource>, capacity: u64) -> Term<'a> {
    let Some(account) = machine.running().map(|running| running.account()) else {
        return names::stopped().encode(env);
    };
    let outbox = ResourceArc::new(OutboxResource {
        outbox: Outbox::new(capacity, account.clone()),
        account,
        owner: env.pid(),
        machine,
    });
    if env.monitor(&outbox, &env.pid()).is_none() {
        outbox.abandon();
    }
    terms::outbox(env, &outbox)
}

/// A message that takes long to copy, taken out of its outbox.
struct LargeLetter(OwnTerm);

#[rustler::resource_impl]
impl Resource for LargeLetter {
    const IMPLEMENTS_DESTRUCTOR: bool = true;

    fn destructor(self, _env: Env<'_>) {
        aside(move || drop(self.0));
    }
}

/// The message of a large letter.
#[rustler::nif(schedule = "DirtyCpu")]
fn outbox_letter<'a>(env: Env<'a>, letter: &LargeLetter) -> Term<'a> {
    letter.0.to(env)
}

/// At most `max` messages, and why there are no more: `:more` (call again), `:enough`, `:empty` (the owner will be
/// told when there are) or `:closed`. Instead of why, a letter: its message is the next one, and is to be had by
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
            Some(Part::Other(copied)) if copied.large => {
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
        (None, Rest::Enough) if wanted > 0 => names::more_left().encode(env),
        (None, Rest::Enough) => names::enough().encode(env),
        (None, Rest::Empty) => names::empty().encode(env),
        (None, Rest::Closed) => names::closed().encode(env),
    };
    // SAFETY: everything was made in `env`, one term for each message.
    let list = unsafe {
        let list = enif_make_list_from_array(env.as_c_arg(), made.as_ptr(), made.len() as u32);
        Term::new(env, list)
    };
    (list, why).encode(env)
}

/// The term of a letter that stands alone; it can be read again.
pub fn letter<'a>(env: Env<'a>, letters: &mut Letters<OwnTerm>) -> Term<'a> {
    let mut made = Vec::new();
    letters.rewind();
    letters.read(|part| {
        let term = build(env, part, &mut made);
        made.push(term);
    });
    match made.pop() {
        // SAFETY: made in `env` just now.
        Some(term) => unsafe { Term::new(env, term) },
        None => names::nil().to_term(env),
    }
}

/// The term of a part, whose own parts are on the stack.
pub fn build(
    env: Env<'_>,
    part: Part<'_, impl AsRef<OwnTerm>>,
    made: &mut Vec<ErlNifTerm>,
) -> ErlNifTerm {
    match part {
        Part::Plain(value) => plain(env, value),
        Part::Float(f) => f.encode(env).as_c_arg(),
        Part::Bytes(content) => bytes(env, content).as_c_arg(),
        Part::Other(own) => own.as_ref().to(env).as_c_arg(),
        Part::Row(row) => {
            let from = made.len();
            made.extend(row.iter().map(|value| plain(env, value)));
            tuple(env, made, from)
        }
        Part::Tuple(count) => tuple(env, made, made.len().saturating_sub(count)),
        Part::List(count) => {
            let from = made.len().saturating_sub(count + 1);
            let mut cells = made.drain(from..).rev();
            let tail = cells.next();
            let empty = Term::list_new_empty(env).as_c_arg();
            // SAFETY: heads and tail belong to `env`.
            cells.fold(tail.unwrap_or(empty), |tail, head| unsafe {
                enif_make_list_cell(env.as_c_arg(), head, tail)
            })
        }
    }
}

/// A tuple of what is on the stack from there on, which is taken off.
fn tuple(env: Env<'_>, made: &mut Vec<ErlNifTerm>, from: usize) -> ErlNifTerm {
    let elements = &made[from..];
    // SAFETY: the elements belong to `env`.
    let tuple = unsafe {
        enif_make_tuple_from_array(env.as_c_arg(), elements.as_ptr(), elements.len() as u32)
    };
    made.truncate(from);
    tuple
}

fn plain(env: Env<'_>, value: Plain) -> ErlNifTerm {
    let term = match value {
        Plain::Integer(n) => n.encode(env),
        Plain::Float(f) => f.encode(env),
        Plain::Atom(atom) => atoms::to_term(env, atom),
        Plain::EmptyList => Term::list_new_empty(env),
    };
    term.as_c_arg()
}

/// Takes no more messages; those that wait can still be taken. The owner is woken.
#[rustler::nif]
fn outbox_close(outbox: ResourceArc<OutboxResource>) -> Atom {
    outbox.outbox.close();
    // Here, so that nobody who is killed between the two leaves a reader waiting.
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
        // Who could write to it has ended.
        info.closed || outbox.machine.running().is_none(),
    )
        .encode(env)
}
