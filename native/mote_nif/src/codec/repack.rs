//! Values on the way from one machine to another.
use crate::held::binaries::LongBinary;
use crate::held::bridge::pin;
use crate::held::foreign::{Elsewhere, TimerElsewhere};
use crate::held::handle::Handle;
use crate::held::machine::MachineResource;
use crate::held::structs;
use crate::term::own_term::OwnTerm;
use crate::term::resource::ResourceArc;
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::base::ids::TimerId;
use mote_vm::boundary::parcel::{Builder, Parcel};
use mote_vm::machine::Machine;
use mote_vm::values::foreign::{Carrier, ForeignRef};
use mote_vm::{ActorRef, FunctionTerm, Term as VmTerm, View};
use std::sync::Arc;

/// A value of the machine `from` as a parcel for the machine `there`; `None` where that has no memory for a long binary.
pub fn repack(
    value: VmTerm<'_>,
    from: &dyn Carrier,
    there: &ResourceArc<MachineResource>,
    machine: &Machine,
) -> Option<Parcel> {
    let mut builder = Builder::new();
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        match value.view() {
            View::Integer(n) => {
                // The same range on both sides.
                let _ = builder.integer(n);
            }
            View::Big(big) => builder.any_integer(big.is_negative(), big.limbs()),
            View::Float(f) => builder.float(f),
            View::Atom(atom) => builder.atom(atom),
            View::EmptyList => builder.empty_list(),
            View::Bytes(bytes) => builder.bytes(bytes),
            View::Bits(bits) => {
                builder.bitstring(bits.unused());
                builder.bytes(&bits.padded());
            }
            View::Tuple(elements) => {
                builder.tuple(elements.len());
                stack.extend(elements.iter().rev());
            }
            View::Map(map) => {
                builder.map(map.len());
                let at = stack.len();
                stack.extend(map.iter().flat_map(|(key, value)| [key, value]));
                stack[at..].reverse();
            }
            View::Cons(..) => {
                let at = stack.len();
                let mut rest = value;
                while let View::Cons(head, tail) = rest.view() {
                    stack.push(head);
                    rest = tail;
                }
                builder.list(stack.len() - at);
                stack.push(rest);
                stack[at..].reverse();
            }
            View::Address(actor) => address(&mut builder, from, actor, None),
            View::Timer(timer) => timer_of(&mut builder, from, timer),
            View::On(sponsor, target) => match (sponsor.view(), target.view()) {
                (View::Atom(sponsor), View::Address(actor)) => {
                    address(&mut builder, from, actor, Some(sponsor));
                }
                _ => stack.push(target),
            },
            View::Function(function) => {
                function_of(&mut builder, &function, machine);
                let at = stack.len();
                stack.extend(function.captures.iter());
                stack[at..].reverse();
            }
            View::Foreign(foreign) => at_home(&mut builder, foreign, there, machine)?,
        }
    }
    Some(builder.finish())
}

/// An address of `from` is one from elsewhere over there.
fn address(
    builder: &mut Builder,
    from: &dyn Carrier,
    actor: ActorRef<'_>,
    sponsor: Option<VmAtom>,
) {
    let made = pin(from).and_then(|resource| {
        let key = from.acquire(actor);
        let handle = Handle::new(resource.clone(), key);
        let term = OwnTerm::make(|env| {
            let key = handle.key(env);
            Some(structs::address(env, &resource, key, sponsor))
        })?;
        Some(Elsewhere::new(term, resource, key, sponsor))
    });
    match made {
        Some(elsewhere) => builder.foreign(Arc::new(elsewhere)),
        None => builder.atom(VmAtom::UNDEFINED),
    }
}

/// A function, whose captures are to follow. Where that version of its module is not loaded it is a `%Mote.Function{}`.
fn function_of(builder: &mut Builder, function: &FunctionTerm<'_>, machine: &Machine) {
    let name = (function.module, function.name, function.arity);
    let captures = function.captures.len();
    if let Some(known) = machine.function(name, function.version, captures) {
        // SAFETY: the parcel is one for that machine.
        return unsafe { builder.function(known, captures) };
    }
    builder.map(structs::FUNCTION_FIELDS);
    let is = VmAtom::new("Elixir.Mote.Function");
    for (key, atom) in [
        ("__struct__", is),
        ("module", function.module),
        ("name", function.name),
    ] {
        builder.atom(VmAtom::new(key));
        builder.atom(atom);
    }
    for (key, n) in [
        ("arity", u64::from(function.arity)),
        ("version", function.version),
    ] {
        builder.atom(VmAtom::new(key));
        // It has been one here.
        let _ = builder.integer(n as i64);
    }
    builder.atom(VmAtom::new("captures"));
    builder.tuple(captures);
}

/// A timer of `from` is one from elsewhere over there.
fn timer_of(builder: &mut Builder, from: &dyn Carrier, timer: TimerId) {
    match pin(from) {
        Some(machine) => builder.foreign(Arc::new(TimerElsewhere { machine, timer })),
        None => builder.atom(VmAtom::UNDEFINED),
    }
}

/// Writes a foreign value for another machine. An actor or a timer from elsewhere may be at home there, and a long binary is carried by
/// that machine as well.
fn at_home(
    builder: &mut Builder,
    foreign: &ForeignRef,
    there: &ResourceArc<MachineResource>,
    machine: &Machine,
) -> Option<()> {
    let any = foreign.as_any();
    if let Some(elsewhere) = any.downcast_ref::<Elsewhere>() {
        let (home, key) = elsewhere.home();
        let at_home = home.identity() == there.identity();
        if let Some(held) = at_home.then(|| machine.hold(key)).flatten() {
            if let Some(sponsor) = elsewhere.sponsor() {
                builder.on();
                builder.atom(sponsor);
            }
            builder.address(held);
            return Some(());
        }
    }
    match any.downcast_ref::<TimerElsewhere>() {
        Some(elsewhere) if elsewhere.machine.identity() == there.identity() => {
            builder.timer(elsewhere.timer);
        }
        _ => match any.downcast_ref::<LongBinary>() {
            Some(binary) => builder.foreign(there.binaries.same(binary, machine)?),
            None => builder.foreign(foreign.clone()),
        },
    }
    Some(())
}
