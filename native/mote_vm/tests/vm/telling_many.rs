//! One message to several processes: which of a turn's messages go out together, and in which order.

use crate::build::{send, tuple};
use crate::encode;
use crate::programs::{r, Assembler};
use crate::world::{self, show};
use mote_vm::base::atom::Atom;
use mote_vm::boundary::parcel::Builder;
use mote_vm::code::ir::Instr;
use mote_vm::values::foreign::{Carrier, Class, Delivery, Foreign, ForeignRef, Messages};
use mote_vm::Term;
use std::cmp::Ordering;
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;

/// A place outside that says how it was told.
struct Listener {
    name: &'static str,
    class: Class,
    heard: Sender<String>,
}

impl Foreign for Listener {
    fn class(&self) -> Class {
        self.class
    }
    fn is_address(&self) -> bool {
        true
    }
    fn deliver_all(
        &self,
        messages: Messages<'_>,
        _machine: &dyn Carrier,
        told: &mut dyn FnMut(Delivery, u64),
    ) {
        let all: Vec<String> = messages.map(show).collect();
        let heard = format!("{} {}", self.name, all.join(" "));
        self.heard.send(heard).expect("a reader");
        told(Delivery::Done, all.len() as u64);
    }
    fn deliver_to_each(
        &self,
        targets: &mut dyn Iterator<Item = &ForeignRef>,
        message: Term<'_>,
        _machine: &dyn Carrier,
        told: &mut dyn FnMut(Delivery, u64),
    ) {
        let named = |target: &ForeignRef| {
            target
                .as_any()
                .downcast_ref::<Listener>()
                .expect("one")
                .name
        };
        let names: Vec<&str> = targets.map(named).collect();
        self.heard
            .send(format!("{} {}", names.join(","), show(message)))
            .expect("a reader");
        told(Delivery::Done, names.len() as u64);
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        (self as *const Listener).cmp(&(other as *const dyn Foreign).cast())
    }
}

#[test]
fn one_message_for_several_processes_goes_out_at_once() {
    let mut a = Assembler::default();
    let (one, two) = (a.int(1), a.int(2));
    let (x, y, other) = (r(0), r(1), r(2));
    let code = vec![
        // One value.
        send(x, one),
        send(y, one),
        send(x, one),
        // Several for one process, the last of which others get as well.
        send(x, two),
        send(x, one),
        send(y, one),
        // Tuples made anew, with the same elements, and one with others.
        tuple(4, [r(3), one]),
        send(x, r(4)),
        tuple(5, [r(3), one]),
        send(y, r(5)),
        tuple(6, [r(3), two]),
        send(x, r(6)),
        // What is no process gets its own.
        send(y, two),
        send(other, two),
        send(y, two),
        Instr::Done,
    ];
    a.behaviour("teller", 3, 7, code);
    let (machine, _world) = world::machine();
    machine
        .load(&encode::encode(&a.unit()), &|_, _| None)
        .expect("loads");
    let (behaviour, _) = machine
        .behaviour(Atom::new("Test"), Atom::new("teller"), 3)
        .expect("known");
    let (heard, hears) = channel();
    let mut builder = Builder::new();
    builder.tuple(3);
    for (name, class) in [
        ("x", Class::Pid),
        ("y", Class::Pid),
        ("other", Class::Address),
    ] {
        builder.foreign(Arc::new(Listener {
            name,
            class,
            heard: heard.clone(),
        }));
    }
    drop(heard);
    let teller = machine
        .create(&behaviour, None, builder.finish())
        .expect("room");
    let mut message = Builder::new();
    assert!(message.integer(7));
    machine.send(teller, None, message.finish()).expect("room");
    let all = [
        "x,y,x 1",
        "x 2 1",
        "y 1",
        "x,y {7, 1}",
        "x {7, 2}",
        "y 2",
        "other 2",
        "y 2",
    ];
    for expected in all {
        assert_eq!(hears.recv().as_deref(), Ok(expected));
    }
    machine.stop();
    machine.join();
    let counts = machine.info().counts();
    assert_eq!((counts.sends, counts.foreign_out), (12, 12));
}
