//! The target of a message, and the reasons why it was not accepted.
use crate::codec::budget::WriteMode;
use crate::codec::encode::Writer;
use crate::enter::noted;
use crate::held::handle::parse_key;
use crate::held::lives::present;
use crate::held::machine::{sponsor, MachineResource};
use crate::term::atoms::names;
use crate::term::resource;
use mote_vm::base::ids::TimerId;
use mote_vm::boundary::parcel::Parcel;
use mote_vm::boundary::room::Permit;
use mote_vm::machine::{Look, Machine, Refusal};
use mote_vm::values::actor::SponsorId;
use mote_vm::values::handles::Key;
use rustler::{Atom, LocalPid, Term};
use std::time::Duration;

/// Returns the reason why a message was not accepted.
pub fn refusal(refusal: Refusal) -> Atom {
    match refusal {
        Refusal::Unknown => names::unknown(),
        Refusal::Stopped => names::stopped(),
        Refusal::NoMemory => names::no_memory(),
        Refusal::NotDurable => names::not_durable(),
        Refusal::Full { patient: false } => names::full(),
        Refusal::Full { patient: true } => names::full_wait(),
    }
}

/// The target of a message.
pub struct Addressee<'a> {
    /// The reference to the actor's machine, in its present life.
    pub reference: Term<'a>,
    /// The actor's machine.
    pub resource: &'a MachineResource,
    /// The running machine of that resource.
    pub machine: &'a Machine,
    /// The actor's key.
    pub key: Key,
    /// The sponsor that was named.
    pub sponsor: Option<SponsorId>,
}

impl<'a> Addressee<'a> {
    /// Returns the fields of an address that the calling process sends to, or what is wrong with them.
    #[inline]
    pub fn find((machine, key, name): (Term<'a>, Term<'a>, Term<'a>)) -> Result<Self, Atom> {
        let machine = present(machine);
        let resource: &MachineResource = resource::get(machine).ok_or_else(names::unknown)?;
        let running = resource.open(machine.get_env())?;
        Addressee::of((machine, resource, running), key, name)
    }

    /// Returns the fields of an address that is only looked at. That is possible even where nothing new is accepted.
    pub fn look_at(machine: Term<'a>, key: Term<'a>) -> Result<Self, Atom> {
        let machine = present(machine);
        let resource: &MachineResource = resource::get(machine).ok_or_else(names::unknown)?;
        let running = resource.running().ok_or_else(names::stopped)?;
        Addressee::of(
            (machine, resource, running),
            key,
            names::nil().to_term(key.get_env()),
        )
    }

    #[inline]
    fn of(
        (reference, resource, machine): (Term<'a>, &'a MachineResource, &'a Machine),
        key: Term<'_>,
        name: Term<'_>,
    ) -> Result<Self, Atom> {
        let key = parse_key(key).ok_or_else(names::unknown)?;
        let sponsor = sponsor(machine, name)?;
        Ok(Addressee {
            reference,
            resource,
            machine,
            key,
            sponsor,
        })
    }

    /// Sends, unless the actor is not known.
    pub fn send(&self, message: Parcel) -> Result<(), Atom> {
        let sent = self.machine.send(self.key, self.sponsor, message);
        sent.map_err(refusal)
    }

    /// Sends a request of Mote's own, which enters whether the sponsor has room or not.
    pub fn send_own(&self, request: Parcel) -> Result<(), Atom> {
        let sent = self.machine.send_between(self.key, self.sponsor, request);
        sent.map_err(refusal)
    }

    /// Sends for a process that does nothing else before it is answered, and notes that if there is a record of it. Returns for how
    /// long it has run turns itself, if they were long.
    pub fn ask(
        &self,
        request: Parcel,
        record: Option<&[u8]>,
        answered: &dyn Fn() -> bool,
    ) -> Result<Duration, Atom> {
        let asked = self
            .machine
            .ask_noted(self.key, self.sponsor, request, record, answered);
        asked.map_err(refusal)
    }

    /// Sends after waiting for room.
    pub fn send_permitted(&self, permit: Permit, message: Parcel) -> Result<(), Atom> {
        let sent = self
            .machine
            .send_permitted(permit, self.key, self.sponsor, message);
        sent.map_err(refusal)
    }

    /// Sends after that many milliseconds.
    pub fn send_after(&self, milliseconds: u64, message: Parcel) -> Result<TimerId, Atom> {
        let armed = self
            .machine
            .send_after(milliseconds, self.key, self.sponsor, message);
        armed.map_err(refusal)
    }

    /// Returns whether that process runs a turn of the sponsor that such a message enters.
    pub fn is_entered_by_turns_of(&self, process: &LocalPid) -> bool {
        let entered = self.machine.sponsor_entered(self.key, self.sponsor);
        let desk = entered.and_then(|sponsor| self.resource.known_desk(sponsor));
        desk.is_some_and(|desk| desk.is_worker(process))
    }

    /// Looks at the actor between two turns.
    pub fn inspect(&self, look: Look) -> Result<(), Atom> {
        match self.machine.inspect(self.key, look) {
            true => Ok(()),
            false => Err(names::unknown()),
        }
    }
}

pub fn send_within<'a>(
    target: (Term<'a>, Term<'a>, Term<'a>),
    message: Term<'a>,
    mode: WriteMode<'a>,
) -> Term<'a> {
    let env = message.get_env();
    let sent = Addressee::find(target).and_then(|target| {
        let mut writer = Writer::new(target.resource, target.machine, mode);
        writer.term(message)?;
        writer.count_spent(env);
        let parcel = writer.builder.finish();
        let record = noted::message(target.machine, target.key, false, message)?;
        let answer = noted::answer(target.machine, &record, target.reference);
        let machine = target.machine;
        machine.noted(record.as_deref(), || target.send(parcel))?;
        Ok(answer)
    });
    sent.unwrap_or_else(|word| word.to_term(env))
}
