//! An outbox as its process has it, and as actors have it. Putting messages into it is in deliver/outbox.rs.
use crate::held::aside::let_go;
use crate::held::copied::Copied;
use crate::held::machine::MachineResource;
use crate::term::resource::{Resource, ResourceArc};
use mote_vm::boundary::outbox::{Account, Outbox};
use rustler::{Env, LocalPid};
use std::sync::Arc;

/// An outbox, and the process that reads it.
pub struct OutboxResource {
    pub outbox: Arc<Outbox<Copied>>,
    pub account: Account,
    pub owner: LocalPid,
    pub machine: ResourceArc<MachineResource>,
}

impl OutboxResource {
    /// The machine whose actors write to it.
    pub fn machine(&self) -> &ResourceArc<MachineResource> {
        &self.machine
    }

    /// Closes it, and forgets the letters that wait. Returns their number.
    pub fn abandon(&self) -> u64 {
        let lost = self.outbox.abandon();
        let count = lost.count;
        let_go(lost, count as usize);
        count
    }
}

impl Resource for OutboxResource {
    const IMPLEMENTS_DOWN: bool = true;

    // The owner has ended: nobody reads any more.
    fn down(&self) {
        let lost = self.abandon();
        if let Some(machine) = self.machine.any() {
            machine.count_undelivered(lost);
        }
    }

    // Nobody has it any more, to write or to read.
    fn destructor(self, _env: Env<'_>) {
        self.abandon();
    }
}

resource_type!(OutboxResource);

/// An outbox as actors have it.
pub struct Writable(pub ResourceArc<OutboxResource>);

impl Writable {
    /// Returns an identity that distinguishes outboxes.
    pub fn identity(&self) -> usize {
        self.0.identity()
    }
}
