//! Delivery of messages to foreign values, and the other uses that the machine makes of these values.
use crate::codec::repack::repack;
use crate::deliver::message::post;
use crate::deliver::{mail, outbound};
use crate::held::binaries::LongBinary;
use crate::held::bridge::Bridge;
use crate::held::far::Far;
use crate::held::foreign::{Abroad, Awaiting, Elsewhere, Opaque, Process, TimerElsewhere};
use crate::held::order::compare;
use crate::held::watches::ProcessKey;
use crate::term::atoms::{self, names};
use crate::term::own_term::{OwnTerm, ENVIRONMENT, NURSED};
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::base::ids::TimerId;
use mote_vm::machine::Refusal;
use mote_vm::values::foreign::{Carrier, Class, Delivery, Foreign, ForeignRef, Messages, CARRIED};
use mote_vm::{Term as VmTerm, View};
use rustler::sys::{enif_compare, enif_make_int64};
use rustler::{Encoder, Env, LocalPid, Term};
use std::cmp::Ordering;
use std::sync::Arc;

/// Bytes of a customer: a resource, the state it shares with the asker, and its tag.
const CUSTOMER: usize = 400;

/// Bytes of the address of another machine's actor: a map, and the handle that keeps the actor.
const ADDRESS: usize = 512;

/// Returns the delivery of the one message that `send` sends.
fn one(send: impl FnOnce(&mut dyn FnMut(Delivery, u64))) -> Delivery {
    let mut became = Delivery::Dead;
    send(&mut |delivery, _| became = delivery);
    became
}

/// Delivers one message to processes, of this node and of others.
fn to_each(
    targets: &mut dyn Iterator<Item = &ForeignRef>,
    message: VmTerm<'_>,
    machine: &dyn Carrier,
    told: &mut dyn FnMut(Delivery, u64),
) {
    let mut pids = Vec::with_capacity(targets.size_hint().1.unwrap_or(0));
    for target in targets {
        match target.as_any().downcast_ref::<Process>() {
            Some(process) => pids.push(process.0),
            None => told(target.deliver(message, machine), 1),
        }
    }
    mail::send_to_each(machine, pids, message, told);
}

/// Returns what `inspect` of Elixir makes of a pid, a reference or a port: Erlang's text, with two words spelled out.
fn shown(term: Term<'_>) -> Option<String> {
    let text = format!("{term:?}");
    match (text.starts_with('<'), text.strip_prefix("#Ref<")) {
        (true, _) => Some(format!("#PID{text}")),
        (_, Some(numbers)) => Some(format!("#Reference<{numbers}")),
        _ => text.starts_with("#Port<").then_some(text),
    }
}

/// Fires a timer when a process has ended, whose pid `write` writes.
fn watch(
    machine: &dyn Carrier,
    key: ProcessKey,
    timer: TimerId,
    write: impl for<'a> FnOnce(Env<'a>) -> Term<'a>,
) {
    if let Some(bridge) = machine.embedder().downcast_ref::<Bridge>() {
        let monitor = |watcher: &LocalPid| {
            post(watcher, |env, _| (names::watch(), write(env)).encode(env));
        };
        let sweep = |watcher: &LocalPid| {
            post(watcher, |env, _| names::sweep().to_term(env));
        };
        bridge.watches.note(key, timer, monitor, sweep);
    }
}

/// Delivers one message, or all of a turn, by a function of the way out.
macro_rules! delivers_by {
    ($leave:path, $to:tt) => {
        fn deliver(&self, message: VmTerm<'_>, machine: &dyn Carrier) -> Delivery {
            one(|told| $leave(machine, &self.$to, std::iter::once(message), told))
        }
        fn deliver_all(
            &self,
            messages: Messages<'_>,
            machine: &dyn Carrier,
            told: &mut dyn FnMut(Delivery, u64),
        ) {
            $leave(machine, &self.$to, messages, told);
        }
    };
}

impl Foreign for Process {
    fn class(&self) -> Class {
        Class::Pid
    }
    fn is_address(&self) -> bool {
        true
    }
    delivers_by! { mail::send, 0 }
    fn deliver_to_each(
        &self,
        targets: &mut dyn Iterator<Item = &ForeignRef>,
        message: VmTerm<'_>,
        machine: &dyn Carrier,
        told: &mut dyn FnMut(Delivery, u64),
    ) {
        to_each(targets, message, machine, told);
    }
    fn watch(&self, timer: TimerId, machine: &dyn Carrier) {
        watch(machine, ProcessKey::Here(self.0), timer, |env| {
            self.0.encode(env)
        });
    }
    fn text(&self) -> Option<String> {
        OwnTerm::make_always(|env| self.0.encode(env)).with(shown)
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        compare(self, other)
    }
}

impl Foreign for Abroad {
    fn class(&self) -> Class {
        Class::Pid
    }
    fn is_address(&self) -> bool {
        true
    }
    fn external_bytes(&self) -> usize {
        CARRIED + NURSED
    }
    delivers_by! { outbound::leave, 0 }
    fn deliver_to_each(
        &self,
        targets: &mut dyn Iterator<Item = &ForeignRef>,
        message: VmTerm<'_>,
        machine: &dyn Carrier,
        told: &mut dyn FnMut(Delivery, u64),
    ) {
        to_each(targets, message, machine, told);
    }
    fn watch(&self, timer: TimerId, machine: &dyn Carrier) {
        let key = self.0.with(ProcessKey::of);
        watch(machine, key, timer, |env| self.0.to(env));
    }
    fn text(&self) -> Option<String> {
        self.0.with(shown)
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        compare(self, other)
    }
}

impl Foreign for Far {
    fn class(&self) -> Class {
        Class::Address
    }
    fn is_address(&self) -> bool {
        true
    }
    fn external_bytes(&self) -> usize {
        CARRIED + ENVIRONMENT + ADDRESS
    }
    delivers_by! { outbound::leave, term }
    fn on(&self, sponsor: VmAtom) -> Option<ForeignRef> {
        if self.question.is_some() {
            return None;
        }
        let term = OwnTerm::make(|env| {
            let sponsor = atoms::to_term(env, sponsor);
            self.term.to(env).map_put(names::sponsor(), sponsor).ok()
        })?;
        Some(Arc::new(Far {
            term,
            question: None,
        }))
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        compare(self, other)
    }
}

impl Foreign for Opaque {
    fn class(&self) -> Class {
        self.class
    }
    fn external_bytes(&self) -> usize {
        CARRIED + self.bytes
    }
    fn text(&self) -> Option<String> {
        match self.class {
            Class::Reference | Class::Port => self.term.with(shown),
            _ => None,
        }
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        compare(self, other)
    }
    fn compare_float(&self, f: f64) -> Ordering {
        let float = OwnTerm::make(|env| Some(f.encode(env)));
        float.map_or(Ordering::Greater, |f| {
            // SAFETY: both terms are alive.
            unsafe { enif_compare(self.term.raw(), f.raw()) }.cmp(&0)
        })
    }
    fn is_negative(&self) -> bool {
        // SAFETY: 0 is an immediate word, nothing is written to the environment.
        unsafe { enif_compare(self.term.raw(), enif_make_int64(self.term.env(), 0)) < 0 }
    }
    fn arity(&self) -> Option<i64> {
        self.arity.map(i64::from)
    }
}

impl Foreign for LongBinary {
    fn class(&self) -> Class {
        Class::Binary
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        Foreign::bytes(self).cmp(&other.bytes())
    }
    fn bytes(&self) -> Option<&[u8]> {
        Some(self.bytes())
    }
    // The binary itself is charged once (held/binaries.rs).
    fn external_bytes(&self) -> usize {
        CARRIED
    }
    fn kept_bytes(&self) -> usize {
        CARRIED + self.kept()
    }
}

impl Foreign for Awaiting {
    fn class(&self) -> Class {
        Class::Address
    }
    fn external_bytes(&self) -> usize {
        CARRIED + CUSTOMER
    }
    // What a killed future stands for has not begun, or sees here that nobody wants it any more.
    fn is_address(&self) -> bool {
        let customer = self.customer();
        !customer.is_future() || customer.is_open()
    }
    fn shows(&self, message: VmTerm<'_>) -> bool {
        passed_on(message).is_none()
    }
    fn deliver(&self, message: VmTerm<'_>, machine: &dyn Carrier) -> Delivery {
        let customer = self.customer();
        if let Some(to) = passed_on(message) {
            if let View::Address(actor) = to.view() {
                customer.question.pass_to(actor);
            }
            return Delivery::Done;
        }
        match customer.claim() && customer.give(machine, message) {
            true => Delivery::Done,
            false => Delivery::Dead,
        }
    }
    fn too_large(&self, machine: &dyn Carrier) {
        self.customer().too_large(machine);
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        compare(self, other)
    }
}

/// The actor to which a directory's shard passes a question on, if this is its note of that and not an answer
/// (lib/mote/behaviour/directory.ex).
fn passed_on(message: VmTerm<'_>) -> Option<VmTerm<'_>> {
    let View::Tuple(elements) = message.view() else {
        return None;
    };
    let mut elements = elements.iter();
    let (Some(from), Some(what), Some(to), None) = (
        elements.next(),
        elements.next(),
        elements.next(),
        elements.next(),
    ) else {
        return None;
    };
    match (from.view(), what.view()) {
        (View::Atom(from), View::Atom(what)) => {
            (what.name() == "passed" && from.name() == "Elixir.Mote.Directory").then_some(to)
        }
        _ => None,
    }
}

impl Drop for Awaiting {
    fn drop(&mut self) {
        match self {
            Awaiting::Caller(customer, shown) if shown.get().is_none() => customer.abandon(),
            // The resource sees to it.
            Awaiting::Caller(..) | Awaiting::Known(_) => {}
        }
    }
}

impl Foreign for Elsewhere {
    fn class(&self) -> Class {
        Class::Address
    }
    fn is_address(&self) -> bool {
        true
    }
    fn external_bytes(&self) -> usize {
        CARRIED + ENVIRONMENT + ADDRESS
    }
    fn deliver(&self, message: VmTerm<'_>, machine: &dyn Carrier) -> Delivery {
        let Some(there) = self.machine.open_between() else {
            return Delivery::Dead;
        };
        let Some(parcel) = repack(message, machine, &self.machine, there) else {
            return Delivery::Full;
        };
        // A sponsor that the other machine does not have any more: its first one stands in.
        let sponsor = self.sponsor.and_then(|name| there.sponsor(name));
        match there.send_between(self.key, sponsor, parcel) {
            Ok(()) => Delivery::Done,
            Err(Refusal::NoMemory) => Delivery::Full,
            Err(_) => Delivery::Dead,
        }
    }
    fn on(&self, sponsor: VmAtom) -> Option<ForeignRef> {
        let term = OwnTerm::make(|env| {
            let sponsor = atoms::to_term(env, sponsor);
            self.term.to(env).map_put(names::sponsor(), sponsor).ok()
        })?;
        let sponsor = Some(sponsor).filter(|name| *name != VmAtom::NIL);
        let (machine, key) = (self.machine.clone(), self.key);
        Some(Arc::new(Elsewhere::new(term, machine, key, sponsor)))
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        compare(self, other)
    }
}

impl Foreign for TimerElsewhere {
    fn class(&self) -> Class {
        Class::Timer
    }
    fn cancel_timer(&self) {
        if let Some(running) = self.machine.running() {
            // Whether it was still armed is nobody's business here.
            let _ = running.cancel_timer(self.timer);
        }
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        compare(self, other)
    }
}
