//! The migration of actors whose behaviour has other code today: the process that starts the machine is asked, batch by
//! batch.
//!
//! Invariants:
//! 1. The thread that restores waits for each answer, or for the end of whoever could give it: nothing but that process refers to the
//!    other end of the channel (`MigrationResource`), which ends with it, or when it says so. So it is in no environment that is kept here.
//! 2. A batch has as many actors and terms as make waiting worthwhile, and no more: so any number of actors takes the memory of one batch.
use crate::codec::budget::WriteMode;
use crate::codec::decode::Decoder;
use crate::codec::encode::Writer;
use crate::deliver::mail::assembled;
use crate::enter::create::{behaviour, BehaviourParts};
use crate::enter::question::inquiry;
use crate::held::machine::MachineResource;
use crate::held::question::Customer;
use crate::term::assembly::Assembled;
use crate::term::atoms::{names, Name};
use crate::term::read::tuple_elements;
use crate::term::resource::{Resource, ResourceArc};
use mote_vm::image::{Migrated, MigratingActor};
use mote_vm::machine::Machine;
use parking_lot::Mutex;
use rustler::types::tuple::make_tuple;
use rustler::{Atom, Encoder, Env, Term};
use std::sync::mpsc::{channel, Receiver, Sender};

/// Actors of a batch, and terms after which no more follow.
const ACTORS: usize = 500;
const TERMS: usize = 64 << 10;

/// An answer, and who asks for the next batch.
type MigrationAnswer = (Migrated, ResourceArc<Customer>);

/// The channel to which answers go, until nobody gives any more.
pub struct MigrationResource(Mutex<Option<Sender<MigrationAnswer>>>);

impl Resource for MigrationResource {}

resource_type!(MigrationResource);

/// The side of the thread that restores.
pub struct Asking {
    customer: ResourceArc<Customer>,
    /// None once the process has it.
    end: Option<ResourceArc<MigrationResource>>,
    answers: Receiver<MigrationAnswer>,
}

impl Asking {
    /// Answers this customer next.
    pub fn new(customer: ResourceArc<Customer>) -> Asking {
        let (end, answers) = channel();
        let end = Some(ResourceArc::new(MigrationResource(Mutex::new(Some(end)))));
        Asking {
            customer,
            end,
            answers,
        }
    }

    /// Asks what the first of these actors become, by `{:migrate, end, [{number, captures}]}`.
    pub fn ask(
        &mut self,
        machine: &Machine,
        actors: &mut dyn Iterator<Item = MigratingActor<'_>>,
    ) -> Option<Migrated> {
        let end = self.end.take();
        let told = self.answer(|env, decoder| {
            let mut batch = Vec::new();
            while batch.len() < ACTORS && decoder.nodes() < TERMS {
                let Some(actor) = actors.next() else {
                    break;
                };
                let captures = actor.captures.into_iter();
                let captures = captures.map(|capture| decoder.term(env, machine, capture));
                let captures = make_tuple(env, &captures.collect::<Vec<_>>());
                batch.push((actor.behaviour, captures).encode(env));
            }
            (names::migrate(), end, batch).encode(env)
        });
        if !told {
            return None;
        }
        let (migrated, customer) = self.answers.recv().ok()?;
        self.customer = customer;
        Some(migrated)
    }

    /// Answers the customer. Returns whether it is there.
    pub fn answer(&self, build: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>) -> bool {
        self.answer_with(assembled(build))
    }

    /// Answers it with what was made before.
    pub fn answer_with(&self, answer: Assembled) -> bool {
        let customer = &self.customer;
        let message = answer.extended(|env, answer| customer.tagged(env, answer));
        customer.claim() && message.send(customer.pid())
    }
}

/// Answers for a batch, with `:keep` or `{module, name, version, captures}` for each of its actors, and asks for the next one as
/// `image_restore` does. What is refused is known at once: `{:ok, {word, position}}`.
pub fn migrated<'a>(
    env: Env<'a>,
    (machine, end): (Term<'a>, &MigrationResource),
    answers: &[Term<'a>],
    mode: WriteMode<'a>,
    tag: Term<'a>,
) -> Term<'a> {
    let Ok(resource) = machine.decode::<ResourceArc<MachineResource>>() else {
        return names::unknown().encode(env);
    };
    let Some(running) = resource.running() else {
        return names::stopped().encode(env);
    };
    match written(&resource, running, answers, mode) {
        Ok(migrated) => inquiry(env, machine, tag, |customer| {
            let end = end.0.lock();
            let end = end.as_ref().ok_or_else(names::stopped)?;
            let sent = end.send((migrated, customer.clone()));
            sent.map_err(|_| names::stopped())
        }),
        Err(refused) => (names::ok(), refused).encode(env),
    }
}

/// Gives no more answers: the machine does not go on.
pub fn abandon(end: &MigrationResource) {
    *end.0.lock() = None;
}

/// Writes what actors become. If one of them cannot, returns why, and its position.
fn written<'a>(
    resource: &MachineResource,
    machine: &Machine,
    answers: &[Term<'a>],
    mode: WriteMode<'a>,
) -> Result<Migrated, (Atom, usize)> {
    let mut writer = Writer::new(resource, machine, mode);
    writer.is_for_heap();
    let mut next = Vec::with_capacity(answers.len());
    for (position, answer) in answers.iter().enumerate() {
        let mut version = || -> Result<_, Atom> {
            if answer.is_atom() {
                return Ok(None);
            }
            let decoded = answer.decode::<(Name, Name, u64, Term<'a>)>();
            let (module, name, version, captures) = decoded.map_err(|_| names::load())?;
            let parts: BehaviourParts = (module, name, version);
            let version = behaviour(machine, parts, tuple_elements(captures).len())?;
            writer.term(captures)?;
            Ok(Some(version))
        };
        next.push(version().map_err(|word| (word, position))?);
    }
    let captures = writer.builder.finish();
    Ok(Migrated { next, captures })
}
