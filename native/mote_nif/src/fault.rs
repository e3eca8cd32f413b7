//! A fault on purpose, for the tests of what a fault does.
use crate::actor::Target;
use crate::atoms::names;
use mote_vm::base::atom::Atom as Name;
use mote_vm::boundary::parcel::Builder;
use mote_vm::machine::Machine;
use mote_vm::values::foreign::{Class, Delivery, Foreign};
use mote_vm::Term as Value;
use rustler::{Atom, Term};
use std::any::Any;
use std::cmp::Ordering;
use std::sync::Arc;

/// A customer on whom a dispatch thread panics.
struct Trap;

impl Foreign for Trap {
    fn class(&self) -> Class {
        Class::Address
    }
    fn is_address(&self) -> bool {
        true
    }
    fn deliver(&self, _: Value<'_>, _: &Machine) -> Delivery {
        panic!("a fault that a test asked for")
    }
    fn compare(&self, _: &dyn Foreign) -> Ordering {
        Ordering::Less
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Sends `{customer, nil}`: when the actor answers, the thread that commits its turn panics. As `send`.
#[rustler::nif]
fn send_trap<'a>(machine: Term<'a>, key: Term<'a>, sponsor: Term<'a>) -> Atom {
    let sent = Target::find((machine, key, sponsor)).and_then(|target| {
        let mut builder = Builder::new();
        builder.tuple(2);
        builder.foreign(Arc::new(Trap));
        builder.atom(Name::NIL);
        target.send(builder.finish())
    });
    sent.err().unwrap_or_else(names::ok)
}
