//! Terms of the BEAM that a machine carries without looking into them: processes, customers, references to other machines, and
//! every term that is not a value of the machine. deliver/foreign.rs says what happens to messages to them.
use crate::held::binaries::LongBinary;
use crate::held::machine::MachineResource;
use crate::held::question::Customer;
use crate::term::own_term::{OwnTerm, ENVIRONMENT, NURSED};
use crate::term::resource::ResourceArc;
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::base::ids::TimerId;
use mote_vm::values::foreign::{length, Class, ForeignRef};
use mote_vm::values::handles::Key;
use mote_vm::{Term as VmTerm, View};
use rustler::sys::{enif_make_sub_binary, ErlNifTerm};
use rustler::{Env, LocalPid, Term};
use std::sync::{Arc, OnceLock};

/// A term takes about this many times in a heap what it takes in the external format: of lists of small numbers eight times
/// as much, of binaries as much.
const HEAP_PER_WRITTEN: usize = 4;

/// A process of this node.
pub struct Process(pub LocalPid);

/// A process of another node: its pid.
pub struct Abroad(pub OwnTerm);

/// A term with no other meaning here.
pub struct Opaque {
    pub term: OwnTerm,
    pub class: Class,
    large: bool,
    /// Approximate bytes of its term.
    pub bytes: usize,
    /// The number of its arguments, if it is a function.
    pub arity: Option<u8>,
    /// True for a function of a module, which has captured nothing.
    pub is_named: bool,
}

/// The tag of a function of a module in the external term format.
const EXPORT: u8 = 113;

/// Returns the number of arguments of a function in the external term format: one that is made, or one that is named.
fn arity(written: &[u8]) -> Option<u8> {
    const NEW_FUN: u8 = 112;
    match written {
        [_, NEW_FUN, _, _, _, _, arity, ..] | [_, EXPORT, .., arity] => Some(*arity),
        _ => None,
    }
}

/// A customer, which waits for an answer.
pub enum Awaiting {
    /// A customer that has asked by a call. It gets a resource only when Elixir sees it. All copies share that resource, which
    /// then guarantees an answer.
    Caller(Customer, OnceLock<ResourceArc<Customer>>),
    /// A customer that already has a resource.
    Known(ResourceArc<Customer>),
}

/// An actor of another machine. The term is its `%Mote.Address{}`, which keeps it alive.
pub struct Elsewhere {
    pub term: OwnTerm,
    pub machine: ResourceArc<MachineResource>,
    pub key: Key,
    pub sponsor: Option<VmAtom>,
}

/// A timer of another machine.
pub struct TimerElsewhere {
    /// The machine that has the timer.
    pub machine: ResourceArc<MachineResource>,
    /// The timer's identity there.
    pub timer: TimerId,
}

impl Awaiting {
    /// The customer of a call.
    pub fn calling(customer: Customer) -> Awaiting {
        Awaiting::Caller(customer, OnceLock::new())
    }

    /// The customer.
    pub fn customer(&self) -> &Customer {
        match self {
            Awaiting::Caller(customer, _) => customer,
            Awaiting::Known(customer) => customer,
        }
    }

    /// Returns the customer as Elixir sees it.
    pub fn shown(&self) -> &ResourceArc<Customer> {
        match self {
            Awaiting::Caller(customer, shown) => shown.get_or_init(|| customer.shown()),
            Awaiting::Known(customer) => customer,
        }
    }

    /// Returns an identity that distinguishes customers.
    pub fn identity(&self) -> usize {
        Arc::as_ptr(&self.customer().question).addr()
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

    /// Wraps a term that may be large and keeps `kept` more bytes alive.
    pub fn keeping(term: OwnTerm, class: Class, kept: usize) -> Opaque {
        let large = matches!(class, Class::Map | Class::Function | Class::BigInteger);
        let written = term.with(|term| term.to_binary());
        let bytes = ENVIRONMENT + written.len() * HEAP_PER_WRITTEN + kept;
        Opaque {
            term,
            class,
            large,
            bytes,
            arity: arity(&written).filter(|_| class == Class::Function),
            is_named: class == Class::Function && written.get(1) == Some(&EXPORT),
        }
    }

    /// A term that is known to be small.
    pub fn small(term: OwnTerm, class: Class) -> Opaque {
        Opaque {
            term,
            class,
            large: false,
            bytes: NURSED,
            arity: None,
            is_named: false,
        }
    }
}

impl Elsewhere {
    /// An address: its term, and what the term says.
    pub fn new(
        term: OwnTerm,
        machine: ResourceArc<MachineResource>,
        key: Key,
        sponsor: Option<VmAtom>,
    ) -> Elsewhere {
        Elsewhere {
            term,
            machine,
            key,
            sponsor,
        }
    }

    /// The sponsor that the address carries.
    pub fn sponsor(&self) -> Option<VmAtom> {
        self.sponsor
    }

    /// The machine that the actor lives in, and its key there.
    pub fn home(&self) -> (&ResourceArc<MachineResource>, Key) {
        (&self.machine, self.key)
    }
}

/// Returns whether the term of a foreign value may be large.
pub fn is_large(value: &ForeignRef) -> bool {
    value
        .as_any()
        .downcast_ref()
        .is_some_and(|opaque: &Opaque| opaque.large)
}

/// Returns whether it is a customer, so that somebody waits for an answer.
pub fn is_customer(value: &ForeignRef) -> bool {
    value.as_any().is::<Awaiting>()
}

/// The customer, if that is a request.
pub fn customer_of(message: VmTerm<'_>) -> Option<&Customer> {
    let View::Tuple(elements) = message.view() else {
        return None;
    };
    match elements.iter().next().map(VmTerm::view) {
        Some(View::Foreign(value)) => {
            let waiting: &Awaiting = value.as_any().downcast_ref()?;
            Some(waiting.customer())
        }
        _ => None,
    }
}

/// Bytes that are copied to make its term, about.
pub fn copied(value: &ForeignRef) -> usize {
    match value.as_any().is::<LongBinary>() {
        true => 0,
        false => value.external_bytes(),
    }
}

/// Returns the bytes that a binary keeps alive: its own, or those of the binary that it is part of. Anything else keeps none.
pub fn kept(value: &ForeignRef) -> usize {
    match value.as_any().downcast_ref::<LongBinary>() {
        Some(binary) => binary.kept(),
        None => length(value),
    }
}

/// Part of a binary that is shared with the BEAM; `None` if it is not shared.
pub fn part<'a>(env: Env<'a>, whole: &ForeignRef, part: &[u8]) -> Option<Term<'a>> {
    let binary = whole.as_any().downcast_ref::<LongBinary>()?;
    let from = part.as_ptr().addr() - binary.bytes().as_ptr().addr();
    let whole = binary.to(env).as_c_arg();
    // SAFETY: `part` is among the bytes of `whole`, which belongs to `env`.
    Some(unsafe {
        Term::new(
            env,
            enif_make_sub_binary(env.as_c_arg(), whole, from, part.len()),
        )
    })
}
