//! Waiting for room in a sponsor.
//!
//! As in drain.rs, what is told is the dropping of a resource: only destructors may send a message from anywhere.
use crate::actor::Target;
use crate::atoms::names;
use crate::encode::{Encoder as Writer, Means};
use crate::message::send_in;
use crate::question::Customer;
use crate::resources::MachineResource;
use mote_vm::boundary::parcel::Parcel;
use mote_vm::boundary::room::{InLine, Permit};
use parking_lot::Mutex;
use rustler::{Atom, Encoder, Env, Resource, ResourceArc, Term};

/// Somebody who waits; told when nobody holds it any more.
struct Hope {
    customer: ResourceArc<Customer>,
    permit: Mutex<Option<Permit>>,
}

#[rustler::resource_impl]
impl Resource for Hope {
    const IMPLEMENTS_DESTRUCTOR: bool = true;

    fn destructor(self, env: Env<'_>) {
        let Some(permit) = self.permit.into_inner() else {
            // Given up: nobody waits.
            return;
        };
        if self.customer.claim() {
            let permit = ResourceArc::new(Admission(Mutex::new(Some(permit))));
            let message = self.customer.tagged(env, permit.encode(env));
            send_in(env, self.customer.pid(), message);
        }
    }
}

/// The place of a process in the line. It is given up when the process dies or drops it.
struct Place(Mutex<Option<InLine>>);

#[rustler::resource_impl]
impl Resource for Place {}

/// Room for one message. It goes to the next in line when it is dropped unused.
pub struct Admission(Mutex<Option<Permit>>);

#[rustler::resource_impl]
impl Resource for Admission {}

impl Admission {
    /// Sends with it; without it when it was used before.
    pub fn send(&self, target: &Target<'_>, message: Parcel) -> Result<(), Atom> {
        match self.0.lock().take() {
            Some(permit) => target.send_permitted(permit, message),
            None => target.send(message),
        }
    }
}

/// Waits in the calling process for room where such a message enters: `{asker, place}`, or why not: `:stopped`,
/// `:unknown`, `:no_sponsor`. Then it gets `{tag, admission}`, unless the asker cancels first or the place is dropped.
#[rustler::nif]
fn wait_for_room<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    let target = match Target::find((machine, key, sponsor)) {
        Ok(target) => target,
        Err(word) => return word.encode(env),
    };
    let Ok(resource) = machine.decode::<ResourceArc<MachineResource>>() else {
        return names::unknown().encode(env);
    };
    let (customer, asker) = Customer::of_machine(env.pid(), tag, resource);
    let hope = ResourceArc::new(Hope {
        customer,
        permit: Mutex::new(None),
    });
    let told = move |permit| {
        *hope.permit.lock() = Some(permit);
        drop(hope);
    };
    match target
        .machine
        .wait_for_room(target.key, target.sponsor, told)
    {
        Some(in_line) => {
            let place = ResourceArc::new(Place(Mutex::new(Some(in_line))));
            (ResourceArc::new(asker), place).encode(env)
        }
        None => names::unknown().encode(env),
    }
}

/// Gives up a place in the line.
#[rustler::nif]
fn leave_line(place: &Place) -> Atom {
    let in_line = place.0.lock().take();
    // Without the lock: whoever waits may be dropped with it.
    drop(in_line);
    names::ok()
}

/// Sends as `send_big`, after waiting for room.
#[rustler::nif(schedule = "DirtyCpu")]
fn send_permitted<'a>(
    permit: &Admission,
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    message: Term<'a>,
    kept: Term<'a>,
) -> Atom {
    let sent = Target::find((machine, key, sponsor)).and_then(|target| {
        let mut writer = Writer::new(target.resource, target.machine, Means::dirty(kept));
        writer.term(message)?;
        let parcel = writer.builder.finish();
        permit.send(&target, parcel)
    });
    sent.err().unwrap_or_else(names::ok)
}
