//! A fault on purpose, for the tests of what a fault does.
use crate::deliver::faulty::FaultyCustomer;
use crate::enter::target::Addressee;
use crate::term::atoms::names;
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::boundary::parcel::Builder;
use rustler::{Atom, Term};
use std::sync::Arc;

/// Sends `{customer, nil}`: when the actor answers, the thread that commits its turn panics. As `send`.
#[rustler::nif]
fn send_trap<'a>(machine: Term<'a>, key: Term<'a>, sponsor: Term<'a>) -> Atom {
    let sent = Addressee::find((machine, key, sponsor)).and_then(|target| {
        let mut builder = Builder::new();
        builder.tuple(2);
        builder.foreign(Arc::new(FaultyCustomer));
        builder.atom(VmAtom::NIL);
        target.send(builder.finish())
    });
    sent.err().unwrap_or_else(names::ok)
}
