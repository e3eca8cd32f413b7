//! What a machine carries of the BEAM without looking into it: processes, customers, what is of other machines, and
//! every term that is no value of the machine.
use crate::atoms::{self, names};
use crate::mail;
use crate::order::compare;
use crate::outbox::Writable;
use crate::own_term::{OwnTerm, ENVIRONMENT, NURSED};
use crate::question::Customer;
use crate::repack::repack;
use crate::resources::MachineResource;
use crate::terms;
use mote_vm::base::atom::Atom;
use mote_vm::base::ids::TimerId;
use mote_vm::machine::{Machine, Refusal};
use mote_vm::values::foreign::{
    length, Class, Delivery, Foreign, ForeignRef, Messages, Wide, CARRIED,
};
use mote_vm::values::handles::Key;
use mote_vm::{Term as Value, View};
use rustler::sys::{
    enif_compare, enif_inspect_binary, enif_make_int64, enif_make_sub_binary, ErlNifBinary,
    ErlNifTerm,
};
use rustler::{Encoder, Env, LocalPid, NewBinary, ResourceArc, Term};
use std::any::Any;
use std::cmp::Ordering;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// What a customer takes: a resource, what it shares with who asked, and its tag.
const CUSTOMER: usize = 400;
/// What the address of another machine's actor takes: a map, and the handle that keeps the actor.
const ADDRESS: usize = 512;
/// A term takes about so many times in a heap what it takes in the external format: of lists of small numbers eight times
/// as much, of binaries as much.
const HEAP_PER_WRITTEN: usize = 4;

/// A process of this node.
pub struct Process(pub LocalPid);

/// A process of another node: its pid.
pub struct Abroad(pub OwnTerm);

/// A term with no other meaning here.
pub struct Opaque {
    term: OwnTerm,
    class: Class,
    large: bool,
    /// What its term takes, about.
    bytes: usize,
}

/// A binary that is worth not copying: shared with the BEAM.
pub struct LongBinary {
    term: OwnTerm,
    /// Borrowed from `term`.
    bytes: &'static [u8],
    /// Bytes of the binary that it is part of, or is.
    kept: usize,
}

/// Somebody who waits for an answer.
pub struct Waiting(pub ResourceArc<Customer>);

/// An actor of another machine. The term is its `%Mote.Address{}`, which keeps it alive.
pub struct Elsewhere {
    term: OwnTerm,
    machine: ResourceArc<MachineResource>,
    key: Key,
    sponsor: Option<Atom>,
}

/// A timer of another machine.
pub struct TimerElsewhere {
    /// That machine.
    pub machine: ResourceArc<MachineResource>,
    /// Which of its timers.
    pub timer: TimerId,
}

impl Waiting {
    /// What tells customers apart.
    pub fn identity(&self) -> usize {
        self.0.as_c_arg() as usize
    }
}

impl Opaque {
    /// The word itself, good only while `self` is alive.
    pub fn raw(&self) -> ErlNifTerm {
        self.term.raw()
    }

    /// A term that may be large.
    pub fn alone(term: OwnTerm, class: Class) -> Opaque {
        Opaque::keeping(term, class, 0)
    }

    /// The same, of one that keeps so many bytes besides.
    pub fn keeping(term: OwnTerm, class: Class, kept: usize) -> Opaque {
        let large = matches!(class, Class::Map | Class::Function | Class::BigInteger);
        let written = term.with(|term| term.to_binary().len());
        let bytes = ENVIRONMENT + written * HEAP_PER_WRITTEN + kept;
        Opaque {
            term,
            class,
            large,
            bytes,
        }
    }

    /// A term that is known to be small.
    pub fn small(term: OwnTerm, class: Class) -> Opaque {
        Opaque {
            term,
            class,
            large: false,
            bytes: NURSED,
        }
    }
}

impl LongBinary {
    /// A binary that keeps so many bytes; `None` of anything else.
    pub fn new(term: Term<'_>, kept: usize) -> Option<LongBinary> {
        let term = OwnTerm::copy(term);
        let mut binary = MaybeUninit::uninit();
        // SAFETY: on success the bytes are those of the copy, which lives as long as `term` and does not move.
        unsafe {
            if enif_inspect_binary(term.env(), term.raw(), binary.as_mut_ptr()) == 0 {
                return None;
            }
            let binary: ErlNifBinary = binary.assume_init();
            let bytes = std::slice::from_raw_parts(binary.data, binary.size);
            Some(LongBinary { term, bytes, kept })
        }
    }
}

impl Elsewhere {
    /// An address: its term, and what the term says.
    pub fn new(
        term: OwnTerm,
        machine: ResourceArc<MachineResource>,
        key: Key,
        sponsor: Option<Atom>,
    ) -> Elsewhere {
        Elsewhere {
            term,
            machine,
            key,
            sponsor,
        }
    }

    /// The sponsor that the address carries.
    pub fn sponsor(&self) -> Option<Atom> {
        self.sponsor
    }

    /// The machine that the actor lives in, and its key there.
    pub fn home(&self) -> (&ResourceArc<MachineResource>, Key) {
        (&self.machine, self.key)
    }
}

/// Whether the term of a foreign value may be large.
pub fn is_large(value: &ForeignRef) -> bool {
    value
        .as_any()
        .downcast_ref()
        .is_some_and(|opaque: &Opaque| opaque.large)
}

/// Whether somebody waits for it to be answered.
pub fn is_customer(value: &ForeignRef) -> bool {
    value.as_any().is::<Waiting>()
}

/// Who asks, if that is a request.
pub fn customer_of(message: Value<'_>) -> Option<&Customer> {
    let View::Tuple(elements) = message.view() else {
        return None;
    };
    match elements.iter().next().map(Value::view) {
        Some(View::Foreign(value)) => {
            let waiting: &Waiting = value.as_any().downcast_ref()?;
            Some(&waiting.0)
        }
        _ => None,
    }
}

/// Bytes that are copied to make its term, about.
pub fn copied(value: &ForeignRef) -> usize {
    match value.as_any().is::<LongBinary>() {
        true => 0,
        false => value.outside(),
    }
}

/// How many bytes a binary keeps: its own, or those of the one that it is part of. None of anything else.
pub fn kept(value: &ForeignRef) -> usize {
    match value.as_any().downcast_ref::<LongBinary>() {
        Some(binary) => binary.kept,
        None => length(value),
    }
}

/// The term of a foreign value.
pub fn to_term<'a>(env: Env<'a>, value: &ForeignRef) -> Term<'a> {
    let any = value.as_any();
    if let Some(Process(pid)) = any.downcast_ref() {
        pid.encode(env)
    } else if let Some(Abroad(pid)) = any.downcast_ref() {
        pid.to(env)
    } else if let Some(opaque) = any.downcast_ref::<Opaque>() {
        opaque.term.to(env)
    } else if let Some(Waiting(customer)) = any.downcast_ref() {
        terms::customer(env, customer)
    } else if let Some(Writable(outbox)) = any.downcast_ref() {
        terms::outbox(env, outbox)
    } else if let Some(elsewhere) = any.downcast_ref::<Elsewhere>() {
        elsewhere.term.to(env)
    } else if let Some(TimerElsewhere { machine, timer }) = any.downcast_ref() {
        terms::timer(env, machine.encode(env), *timer)
    } else if let Some(wide) = any.downcast_ref::<Wide>() {
        integer(env, wide)
    } else if let Some(binary) = any.downcast_ref::<LongBinary>() {
        binary.term.to(env)
    } else {
        bytes(env, value.bytes().unwrap_or_default())
    }
}

/// An integer of 64 bits.
pub fn integer<'a>(env: Env<'a>, wide: &Wide) -> Term<'a> {
    match u64::try_from(wide.value()) {
        Ok(n) => n.encode(env),
        Err(_) => (wide.value() as i64).encode(env),
    }
}

/// Part of a binary that is shared with the BEAM; `None` if it is not shared.
pub fn part<'a>(env: Env<'a>, whole: &ForeignRef, part: &[u8]) -> Option<Term<'a>> {
    let binary = whole.as_any().downcast_ref::<LongBinary>()?;
    let from = part.as_ptr().addr() - binary.bytes.as_ptr().addr();
    let whole = binary.term.to(env).as_c_arg();
    // SAFETY: `part` is among the bytes of `whole`, which belongs to `env`.
    Some(unsafe {
        Term::new(
            env,
            enif_make_sub_binary(env.as_c_arg(), whole, from, part.len()),
        )
    })
}

/// A binary of the BEAM.
pub fn bytes<'a>(env: Env<'a>, bytes: &[u8]) -> Term<'a> {
    let mut binary = NewBinary::new(env, bytes.len());
    binary.as_mut_slice().copy_from_slice(bytes);
    binary.into()
}

impl Foreign for Process {
    fn class(&self) -> Class {
        Class::Pid
    }
    fn is_address(&self) -> bool {
        true
    }
    fn deliver(&self, message: Value<'_>, machine: &Machine) -> Delivery {
        let mut became = Delivery::Dead;
        let told = &mut |delivery, _| became = delivery;
        mail::send(machine, &self.0, std::iter::once(message), told);
        became
    }
    fn deliver_all(
        &self,
        messages: Messages<'_>,
        machine: &Machine,
        told: &mut dyn FnMut(Delivery, u64),
    ) {
        mail::send(machine, &self.0, messages, told);
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        compare(self, other)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Foreign for Abroad {
    fn class(&self) -> Class {
        Class::Pid
    }
    fn is_address(&self) -> bool {
        true
    }
    fn outside(&self) -> usize {
        CARRIED + NURSED
    }
    fn deliver(&self, message: Value<'_>, machine: &Machine) -> Delivery {
        mail::send_abroad(machine, &self.0, message)
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        compare(self, other)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Foreign for Opaque {
    fn class(&self) -> Class {
        self.class
    }
    fn outside(&self) -> usize {
        CARRIED + self.bytes
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
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Foreign for LongBinary {
    fn class(&self) -> Class {
        Class::Binary
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        self.bytes().cmp(&other.bytes())
    }
    fn bytes(&self) -> Option<&[u8]> {
        Some(self.bytes)
    }
    fn outside(&self) -> usize {
        CARRIED + ENVIRONMENT + self.kept
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Foreign for Waiting {
    fn class(&self) -> Class {
        Class::Address
    }
    fn outside(&self) -> usize {
        CARRIED + CUSTOMER
    }
    // What a killed future stands for has not begun, or sees here that nobody wants it any more.
    fn is_address(&self) -> bool {
        !self.0.is_future() || self.0.is_open()
    }
    fn deliver(&self, message: Value<'_>, machine: &Machine) -> Delivery {
        match self.0.claim() && self.0.give(machine, message) {
            true => Delivery::Done,
            false => Delivery::Dead,
        }
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        compare(self, other)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Foreign for Elsewhere {
    fn class(&self) -> Class {
        Class::Address
    }
    fn is_address(&self) -> bool {
        true
    }
    fn outside(&self) -> usize {
        CARRIED + ENVIRONMENT + ADDRESS
    }
    fn deliver(&self, message: Value<'_>, machine: &Machine) -> Delivery {
        let Some(there) = self.machine.running() else {
            return Delivery::Dead;
        };
        let parcel = repack(message, machine, &self.machine, there);
        // A sponsor that the other machine does not have any more: its first one stands in.
        let sponsor = self.sponsor.and_then(|name| there.sponsor(name));
        match there.send_between(self.key, sponsor, parcel) {
            Ok(()) => Delivery::Done,
            Err(Refusal::NoMemory) => Delivery::Full,
            Err(_) => Delivery::Dead,
        }
    }
    fn on(&self, sponsor: Atom) -> Option<ForeignRef> {
        let term = OwnTerm::make(|env| {
            let sponsor = atoms::to_term(env, sponsor);
            self.term.to(env).map_put(names::sponsor(), sponsor).ok()
        })?;
        let sponsor = Some(sponsor).filter(|name| *name != Atom::NIL);
        let (machine, key) = (self.machine.clone(), self.key);
        Some(Arc::new(Elsewhere::new(term, machine, key, sponsor)))
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        compare(self, other)
    }
    fn as_any(&self) -> &dyn Any {
        self
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
    fn as_any(&self) -> &dyn Any {
        self
    }
}
