//! The structs of Elixir that stand for what is held, both ways: made, and recognised.
use crate::held::far::FarKind;
use crate::held::handle::{parse_key, parse_timer, timer_key};
use crate::held::lives::present_machine;
use crate::held::machine::MachineResource;
use crate::held::outbox::OutboxResource;
use crate::held::question::Customer;
use crate::term::atoms::{self, names};
use crate::term::make::{bytes, map};
use crate::term::read::{self, is_of_another_node, map_size, tuple_elements};
use crate::term::resource::{self, ResourceArc};
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::base::ids::{BehaviourName, TimerId};
use mote_vm::values::foreign::Carrier;
use mote_vm::values::handles::Key;
use mote_vm::{FunctionTerm, Origin};
use rustler::{Encoder, Env, Term};

/// The thing that a struct stands for.
pub enum Struct<'a> {
    /// The address of an actor, and the sponsor that it carries.
    Address(ResourceArc<MachineResource>, Key, Option<VmAtom>),
    /// A customer, which waits for an answer.
    Customer(ResourceArc<Customer>),
    /// An outbox, from which a process takes messages in batches.
    Outbox(ResourceArc<OutboxResource>),
    /// A timer of a machine.
    Timer(ResourceArc<MachineResource>, TimerId),
    /// An actor or a customer on another node.
    Far(FarKind),
    /// A function of the language.
    Function(FunctionFields<'a>),
    /// A shared constant: the machine and the key, unless they are of another node; and what it stands for.
    Shared(Option<&'a MachineResource>, Option<Key>, Term<'a>),
}

/// Looks only at maps that have the size of our structs.
pub fn known_struct(map: Term<'_>) -> Option<Struct<'_>> {
    match map_size(map) {
        FUNCTION_FIELDS if read::is_struct(map, names::function()) => {
            function_fields(map).map(Struct::Function)
        }
        4 if read::is_struct(map, names::shared()) => {
            let machine = resource::get(read::get(map, names::machine())?);
            let key = parse_key(read::get(map, names::key())?);
            Some(Struct::Shared(
                machine,
                key,
                read::get(map, names::value())?,
            ))
        }
        4 => {
            let Fields {
                machine,
                key,
                sponsor,
            } = address_fields(map)?;
            match present_machine(machine) {
                Some(machine) => Some(Struct::Address(machine, key, sponsor)),
                None => is_of_another_node(machine).then_some(Struct::Far(FarKind::Actor)),
            }
        }
        3 if read::is_struct(map, names::timer()) => {
            let machine = read::get(map, names::machine())?.decode().ok()?;
            let timer = parse_timer(read::get(map, names::key())?)?;
            Some(Struct::Timer(machine, timer))
        }
        3 if read::is_struct(map, names::outbox()) => {
            let outbox = read::get(map, names::reference())?.decode().ok()?;
            Some(Struct::Outbox(outbox))
        }
        2 if read::is_struct(map, names::customer()) => {
            let reference = read::get(map, names::reference())?;
            match reference.decode() {
                Ok(customer) => Some(Struct::Customer(customer)),
                Err(_) => {
                    is_of_another_node(bare(reference)).then_some(Struct::Far(FarKind::Customer))
                }
            }
        }
        _ => None,
    }
}

/// The reference of a customer, which of another node may stand beside what holds that one's (held/far.rs).
fn bare(reference: Term<'_>) -> Term<'_> {
    match *tuple_elements(reference) {
        // SAFETY: elements belong to the environment of their tuple.
        [first, _] => unsafe { Term::new(reference.get_env(), first) },
        _ => reference,
    }
}

/// The fields of an address.
pub struct Fields<'a> {
    pub machine: Term<'a>,
    pub key: Key,
    pub sponsor: Option<VmAtom>,
}

/// The fields of an address; none of anything else.
pub fn address_fields(map: Term<'_>) -> Option<Fields<'_>> {
    if map_size(map) != 4 || !read::is_struct(map, names::address()) {
        return None;
    }
    let sponsor = read::get(map, names::sponsor()).filter(|sponsor| sponsor.is_atom())?;
    Some(Fields {
        machine: read::get(map, names::machine())?,
        key: parse_key(read::get(map, names::key())?)?,
        sponsor: Some(atoms::number(sponsor)).filter(|name| *name != VmAtom::NIL),
    })
}

/// Returns whether a reference is one of our own resources, which must not be kept longer than needed.
pub fn is_ours(reference: Term<'_>) -> bool {
    resource::get::<Customer>(reference).is_some()
        || resource::get::<MachineResource>(reference).is_some()
        || resource::get::<OutboxResource>(reference).is_some()
}

/// `%Mote.Address{}` with the key of a handle.
pub fn address<'a>(
    env: Env<'a>,
    machine: &ResourceArc<MachineResource>,
    key: Term<'a>,
    sponsor: Option<VmAtom>,
) -> Term<'a> {
    let sponsor = atoms::to_term(env, sponsor.unwrap_or(VmAtom::NIL));
    map(
        env,
        [
            (names::__struct__(), names::address().to_term(env)),
            (names::machine(), machine.encode(env)),
            (names::key(), key),
            (names::sponsor(), sponsor),
        ],
    )
}

/// `%Mote.Behaviour{}` of an actor with these captures, or `:sink`.
pub fn behaviour<'a>(
    env: Env<'a>,
    machine: &dyn Carrier,
    behaviour: BehaviourName,
    captures: Term<'a>,
) -> Term<'a> {
    let name = atoms::to_term(env, behaviour.name);
    if behaviour.module == VmAtom::NIL {
        return name;
    }
    map(
        env,
        [
            (names::__struct__(), names::behaviour().to_term(env)),
            (names::module(), atoms::to_term(env, behaviour.module)),
            (names::name(), name),
            (
                names::version(),
                machine.module(behaviour.module).encode(env),
            ),
            (names::captures(), captures),
        ],
    )
}

/// The fields of `%Mote.Function{}`.
pub const FUNCTION_FIELDS: usize = 6;

/// The fields of `%Mote.Function{}`.
pub struct FunctionFields<'a> {
    /// Module, name and number of arguments.
    pub name: (VmAtom, VmAtom, u32),
    /// The hash of the unit.
    pub version: u64,
    pub captures: Term<'a>,
}

fn function_fields(map: Term<'_>) -> Option<FunctionFields<'_>> {
    let [module, name] = [names::module(), names::name()].map(|key| read::get(map, key));
    let [module, name] = [module?, name?];
    let captures = read::get(map, names::captures())?;
    if !module.is_atom() || !name.is_atom() || !captures.is_tuple() {
        return None;
    }
    let arity = read::get(map, names::arity())?.decode().ok()?;
    Some(FunctionFields {
        name: (atoms::number(module), atoms::number(name), arity),
        version: read::get(map, names::version())?.decode().ok()?,
        captures,
    })
}

/// Keys and then values of `%Mote.Function{}`, but for the last value, its captures.
pub fn function<'a, 'm, O: Origin<'m>>(
    env: Env<'a>,
    function: &FunctionTerm<'m, O>,
) -> impl Iterator<Item = Term<'a>> {
    let keys = [
        names::__struct__(),
        names::module(),
        names::name(),
        names::arity(),
        names::version(),
        names::captures(),
    ];
    let values = [
        names::function().to_term(env),
        atoms::to_term(env, function.module),
        atoms::to_term(env, function.name),
        function.arity.encode(env),
        function.version.encode(env),
    ];
    keys.into_iter()
        .map(move |key| key.to_term(env))
        .chain(values)
}

/// `%Mote.Uncommitted{}`: an actor of an aborted turn, or a timer, which has no behaviour.
pub fn uncommitted(env: Env<'_>, behaviour: Option<BehaviourName>, number: usize) -> Term<'_> {
    let behaviour = behaviour.map(|behaviour| {
        let [module, name] = [behaviour.module, behaviour.written].map(|a| atoms::to_term(env, a));
        (module, name)
    });
    map(
        env,
        [
            (names::__struct__(), names::uncommitted().to_term(env)),
            (names::behaviour_key(), behaviour.encode(env)),
            (names::number(), number.encode(env)),
        ],
    )
}

/// `%Mote.Timer{}`
pub fn timer<'a>(env: Env<'a>, machine: Term<'a>, timer: TimerId) -> Term<'a> {
    let key = bytes(env, &timer_key(timer));
    map(
        env,
        [
            (names::__struct__(), names::timer().to_term(env)),
            (names::machine(), machine),
            (names::key(), key),
        ],
    )
}

/// `%Mote.Outbox{}`
pub fn outbox<'a>(env: Env<'a>, outbox: &ResourceArc<OutboxResource>) -> Term<'a> {
    map(
        env,
        [
            (names::__struct__(), names::outbox().to_term(env)),
            (names::machine(), outbox.machine().encode(env)),
            (names::reference(), outbox.encode(env)),
        ],
    )
}

/// `%Mote.Customer{}`
pub fn customer<'a>(env: Env<'a>, customer: &ResourceArc<Customer>) -> Term<'a> {
    customer_of(env, customer.encode(env))
}

/// A `%Mote.Customer{}` to look at, which cannot be answered.
pub fn lost_customer(env: Env<'_>) -> Term<'_> {
    customer_of(env, names::nil().to_term(env))
}

fn customer_of<'a>(env: Env<'a>, reference: Term<'a>) -> Term<'a> {
    map(
        env,
        [
            (names::__struct__(), names::customer().to_term(env)),
            (names::reference(), reference),
        ],
    )
}
