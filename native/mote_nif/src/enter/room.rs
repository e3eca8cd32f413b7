//! Waiting for room in a sponsor.
//!
//! As in drain.rs, the notification is the dropping of a resource: only destructors may send a message from anywhere.
use crate::enter::target::Addressee;
use crate::held::question::Customer;
use crate::term::resource::{Resource, ResourceArc};
use crate::term::send::send_in;
use mote_vm::boundary::parcel::Parcel;
use mote_vm::boundary::room::{InLine, Permit};
use parking_lot::Mutex;
use rustler::{Atom, Encoder, Env};

/// A waiter, notified when nobody holds it any more.
pub struct RoomWaiter {
    pub customer: ResourceArc<Customer>,
    pub permit: Mutex<Option<Permit>>,
}

impl Resource for RoomWaiter {
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

resource_type!(RoomWaiter);

/// The place of a process in the line. It is given up when the process dies or drops it.
pub struct PlaceInLine(pub Mutex<Option<InLine>>);

impl Resource for PlaceInLine {}

resource_type!(PlaceInLine);

/// Room for one message. It goes to the next in line when it is dropped unused.
pub struct Admission(Mutex<Option<Permit>>);

impl Resource for Admission {}

resource_type!(Admission);

impl Admission {
    /// Sends with it; without it when it was used before.
    pub fn send(&self, target: &Addressee<'_>, message: Parcel) -> Result<(), Atom> {
        match self.0.lock().take() {
            Some(permit) => target.send_permitted(permit, message),
            None => target.send(message),
        }
    }
}
