//! Futures: a question whose answer is kept, for any process to look at, as often as it likes.
//!
//! A future is a [`Customer`] like any other to the machine. Its answer goes to no mailbox but into a [`Cell`]; those
//! who wait for it are customers of their own, who are told when it is there.
use crate::actor::{not_created, prepare, refusal};
use crate::aside::{aside, let_go, FEW};
use crate::atoms::{names, Name};
use crate::customer::inquiry;
use crate::decode::Decoder;
use crate::encode::{Encoder as Writer, Means, LARGE};
use crate::mail::tell;
use crate::message::{post, send_in};
use crate::outbox::letter;
use crate::own_term::OwnTerm;
use crate::question::{Asker, Customer, Question};
use crate::resources::{sponsor, MachineResource};
use mote_vm::boundary::outbox::Letters;
use mote_vm::machine::{Abort, LaunchError, Machine};
use mote_vm::{ActorRef, Term as Value};
use parking_lot::Mutex;
use rustler::{Atom, Encoder, Env, Resource, ResourceArc, Term};
use std::sync::{Arc, Weak};

/// What a future holds.
pub enum Content {
    /// Nothing yet; these wait for it.
    Open(Vec<ResourceArc<Customer>>),
    /// The answer, small and plain: in a letter, for an environment costs more than all the rest of a future.
    Plain(Letters<OwnTerm>),
    /// Any other answer, and whether it is large.
    Value(OwnTerm, bool),
    /// There is none, and why.
    Failed(Atom),
    /// There is none, for the turn was aborted; why it was.
    Aborted(OwnTerm),
}

/// Where the answer of a future is kept. Filled once, by whoever has claimed the question.
pub struct Cell {
    content: Mutex<Content>,
    /// Whether one turn is all there is: the call of a function.
    pub is_call: bool,
}

impl Cell {
    fn new(is_call: bool) -> Cell {
        Cell {
            content: Mutex::new(Content::Open(Vec::new())),
            is_call,
        }
    }

    /// Whether it was killed; `dropped` says whether anybody refers to it. Waits for nobody: if somebody else looks at the
    /// moment, it is found out the next time.
    pub fn is_killed(&self, dropped: bool) -> bool {
        match self.content.try_lock().as_deref() {
            Some(Content::Failed(reason)) => *reason == names::killed(),
            Some(Content::Open(_)) => self.is_call && dropped,
            _ => false,
        }
    }

    /// Fills it; gives those who wait, to be told. Nobody holds it for longer than that takes: what is large is copied
    /// without the lock, for normal schedulers look at it.
    #[must_use]
    fn fill(&self, content: Content) -> Vec<ResourceArc<Customer>> {
        match std::mem::replace(&mut *self.content.lock(), content) {
            Content::Open(waiting) => waiting,
            _ => Vec::new(),
        }
    }

    /// Fills it with a value of the machine, on a dispatch thread.
    pub fn answer(&self, machine: &Machine, value: Value<'_>) {
        let mut letter = Letters::default();
        if letter.write(value) {
            return post_to(machine, self.fill(Content::Plain(letter)));
        }
        let mut large = false;
        let term = OwnTerm::make(|env| {
            let mut decoder = Decoder::default();
            let term = decoder.term(env, machine, value);
            large = decoder.nodes() > LARGE;
            Some(term)
        });
        if let Some(term) = term {
            post_to(machine, self.fill(Content::Value(term, large)));
        }
    }

    /// Fills it with the reason of an abort, on a dispatch thread.
    pub fn aborted(&self, machine: &Machine, abort: &Abort<'_>) {
        let term = OwnTerm::make(|env| Some(Decoder::default().glance(env, machine, abort.reason)));
        if let Some(term) = term {
            post_to(machine, self.fill(Content::Aborted(term)));
        }
    }

    /// Fills it with a term, in a NIF.
    pub fn answer_in<'a>(&self, env: Env<'a>, term: Term<'a>) {
        // It may be of any size: that is not known here.
        send_to(env, self.fill(Content::Value(OwnTerm::copy(term), true)));
    }

    /// Says that there will be no answer, in a NIF or a destructor.
    pub fn fail_in(&self, env: Env<'_>, reason: Atom) {
        send_to(env, self.fill(Content::Failed(reason)));
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        let content = std::mem::replace(self.content.get_mut(), Content::Open(Vec::new()));
        if let Content::Value(_, true) = content {
            aside(move || drop(content));
        }
    }
}

fn post_to(machine: &Machine, waiting: Vec<ResourceArc<Customer>>) {
    for customer in waiting.iter().filter(|customer| customer.claim()) {
        tell(machine, customer.pid(), |env, _| {
            customer.tagged(env, names::ok().encode(env))
        });
    }
}

fn send_to(env: Env<'_>, waiting: Vec<ResourceArc<Customer>>) {
    if waiting.len() > FEW {
        return aside(move || {
            for customer in waiting.iter().filter(|customer| customer.claim()) {
                post(customer.pid(), |env, _| {
                    customer.tagged(env, names::ok().encode(env))
                });
            }
        });
    }
    for customer in waiting.iter().filter(|customer| customer.claim()) {
        let message = customer.tagged(env, names::ok().encode(env));
        send_in(env, customer.pid(), message);
    }
}

/// The futures of an environment that may still be open.
#[derive(Default)]
struct Environment(Mutex<Members>);

#[derive(Default)]
struct Members {
    questions: Vec<Weak<Question>>,
    /// How many there may be before those that are gone are taken out.
    limit: usize,
    /// Its block has ended, and nothing starts in it any more.
    ended: bool,
}

#[rustler::resource_impl]
impl Resource for Environment {
    const IMPLEMENTS_DESTRUCTOR: bool = true;

    fn destructor(self, _env: Env<'_>) {
        let members = self.0.into_inner().questions;
        let count = members.len();
        let_go(members, count);
    }
}

impl Environment {
    /// One more; `false` if it has ended, and takes none.
    fn add(&self, question: &Arc<Question>) -> bool {
        let mut members = self.0.lock();
        if members.ended {
            return false;
        }
        if members.questions.len() >= members.limit {
            members
                .questions
                .retain(|q| q.upgrade().is_some_and(|q| q.is_open()));
            members.limit = (2 * members.questions.len()).max(64);
        }
        members.questions.push(Arc::downgrade(question));
        true
    }

    /// Kills those that are open; how many.
    fn kill(&self, env: Env<'_>, ends: bool) -> usize {
        let members = {
            let mut members = self.0.lock();
            members.ended |= ends;
            std::mem::take(&mut members.questions)
        };
        let questions = members.iter().filter_map(Weak::upgrade);
        questions.filter(|question| kill(env, question)).count()
    }
}

/// What holds the futures of an environment together.
#[rustler::nif]
fn environment(env: Env<'_>) -> Term<'_> {
    ResourceArc::new(Environment::default()).encode(env)
}

/// Kills all futures of an environment that are open, and if it `ends` lets no other start in it; how many.
#[rustler::nif(schedule = "DirtyCpu")]
fn environment_kill(env: Env<'_>, environment: &Environment, ends: bool) -> usize {
    environment.kill(env, ends)
}

/// Runs a behaviour with captures for one request, as an actor that nobody else knows; the last of its fields says
/// whether that is one call, done in one turn. Answers with the future's side of it, or why not: `:big`, `:long`, `:load`, `:stopped`,
/// `:no_memory`, `:no_sponsor`, `:ended` (the environment has).
#[rustler::nif]
fn future<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    behaviour: (Name, Name, u64, Term<'a>, bool),
    sponsor: Term<'a>,
    request: Term<'a>,
    environment: Option<ResourceArc<Environment>>,
) -> Term<'a> {
    let place = (sponsor, environment);
    future_within(env, machine, behaviour, place, request, Means::first())
}

#[rustler::nif(name = "future")]
fn future_again<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    behaviour: (Name, Name, u64, Term<'a>, bool),
    sponsor: Term<'a>,
    request: Term<'a>,
    environment: Option<ResourceArc<Environment>>,
    kept: Term<'a>,
) -> Term<'a> {
    let (place, means) = ((sponsor, environment), Means::again(kept));
    future_within(env, machine, behaviour, place, request, means)
}

#[rustler::nif(schedule = "DirtyCpu")]
fn future_big<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    behaviour: (Name, Name, u64, Term<'a>, bool),
    sponsor: Term<'a>,
    request: Term<'a>,
    environment: Option<ResourceArc<Environment>>,
    kept: Term<'a>,
) -> Term<'a> {
    let (place, means) = ((sponsor, environment), Means::dirty(kept));
    future_within(env, machine, behaviour, place, request, means)
}

fn future_within<'a>(
    env: Env<'a>,
    resource: ResourceArc<MachineResource>,
    (module, name, version, captures, is_call): (Name, Name, u64, Term<'a>, bool),
    (named, environment): (Term<'a>, Option<ResourceArc<Environment>>),
    request: Term<'a>,
    means: Means<'a>,
) -> Term<'a> {
    let started = resource
        .running()
        .ok_or_else(names::stopped)
        .and_then(|machine| {
            // The sponsor may be another environment's by now.
            if environment.as_ref().is_some_and(|e| e.0.lock().ended) {
                return Err(names::ended());
            }
            let sponsor = sponsor(machine, named)?;
            let behaviour = (module, name, version);
            let (behaviour, captures) = prepare(&resource, machine, behaviour, captures, means)?;
            let (customer, asker) =
                Customer::future(env.pid(), Cell::new(is_call), resource.clone());
            let mut writer = Writer::new(&resource, machine, means);
            writer.request_of(&customer);
            writer.term(request)?;
            writer.count_spent(env);
            let request = writer.builder.finish();
            let known = |actor: ActorRef<'_>| customer.is_for(actor);
            match machine.launch(&behaviour, sponsor, captures, request, known) {
                Ok(()) => Ok(asker),
                Err(LaunchError::Create(error)) => Err(not_created(error)),
                Err(LaunchError::Send(why)) => Err(refusal(why)),
            }
        });
    match started {
        Ok(asker) => {
            if environment.is_some_and(|environment| !environment.add(asker.question())) {
                // It has ended in this very moment.
                kill(env, asker.question());
            }
            ResourceArc::new(asker).encode(env)
        }
        Err(word) => word.encode(env),
    }
}

/// What a future holds: `:open`, `{:ok, value}`, `{:failed, reason}`, `{:failed, :aborted, reason}`, or `:big` when it
/// takes long to copy.
#[rustler::nif]
fn future_value<'a>(env: Env<'a>, future: &Asker) -> Term<'a> {
    value_within(env, future, false)
}

#[rustler::nif(schedule = "DirtyCpu")]
fn future_value_big<'a>(env: Env<'a>, future: &Asker) -> Term<'a> {
    value_within(env, future, true)
}

fn value_within<'a>(env: Env<'a>, future: &Asker, patient: bool) -> Term<'a> {
    let Some(cell) = future.question().cell() else {
        return names::unknown().encode(env);
    };
    let failed = names::future_failed();
    let term = match &mut *cell.content.lock() {
        Content::Open(_) => return names::open().encode(env),
        Content::Plain(plain) => return (names::ok(), letter(env, plain)).encode(env),
        Content::Value(_, true) if !patient => return names::big().encode(env),
        Content::Value(term, _) => term.clone(),
        Content::Failed(reason) => return (failed, *reason).encode(env),
        Content::Aborted(reason) => {
            return (failed, names::was_aborted(), reason.to(env)).encode(env)
        }
    };
    (names::ok(), term.to(env)).encode(env)
}

/// Whether a future holds something.
#[rustler::nif]
fn future_finished(future: &Asker) -> bool {
    let cell = future.question().cell();
    cell.is_some_and(|cell| !matches!(*cell.content.lock(), Content::Open(_)))
}

/// Waits in the calling process until a future holds something: it gets `{tag, :ok}` then, unless it cancels what this
/// answers with.
#[rustler::nif]
fn future_wait<'a>(env: Env<'a>, machine: Term<'a>, future: &Asker, tag: Term<'a>) -> Term<'a> {
    inquiry(env, machine, tag, |customer| {
        let Some(cell) = future.question().cell() else {
            return Err(names::unknown());
        };
        let mut content = cell.content.lock();
        if let Content::Open(waiting) = &mut *content {
            // Those who have given up do not pile up.
            if waiting.len() == waiting.capacity() {
                waiting.retain(|waits| waits.is_open());
            }
            waiting.push(customer.clone());
            return Ok(());
        }
        drop(content);
        send_to(env, vec![customer.clone()]);
        Ok(())
    })
}

/// Ends a future without an answer; `false` when it has ended already.
#[rustler::nif]
fn future_kill(env: Env<'_>, future: &Asker) -> bool {
    kill(env, future.question())
}

fn kill(env: Env<'_>, question: &Question) -> bool {
    let Some(cell) = question.cell() else {
        return false;
    };
    let mine = question.claim();
    if mine {
        cell.fail_in(env, names::killed());
    }
    mine
}
