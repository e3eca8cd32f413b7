//! Futures: a question whose answer is kept, and the environments that they belong to.
use crate::codec::budget::WriteMode;
use crate::codec::encode::Writer;
use crate::codec::letters::letter;
use crate::enter::create::{not_created, prepare};
use crate::enter::target::refusal;
use crate::held::aside::let_go;
use crate::held::foreign::Awaiting;
use crate::held::future_value::{Content, FutureValue};
use crate::held::machine::{sponsor, MachineResource};
use crate::held::question::{Asker, Customer, Question};
use crate::held::reason::Reason;
use crate::term::atoms::{names, Name};
use crate::term::resource::{Resource, ResourceArc};
use mote_vm::machine::LaunchError;
use mote_vm::ActorRef;
use parking_lot::Mutex;
use rustler::{Encoder, Env, Term};
use std::sync::{Arc, Weak};

/// The futures of an environment that may still be open.
#[derive(Default)]
pub struct Environment(Mutex<Members>);

#[derive(Default)]
struct Members {
    questions: Vec<Weak<Question>>,
    /// Number of questions from which those that are gone are removed.
    limit: usize,
    /// True once its block has ended, and nothing starts in it any more.
    ended: bool,
}

impl Resource for Environment {
    fn destructor(self, _env: Env<'_>) {
        let members = self.0.into_inner().questions;
        let count = members.len();
        let_go(members, count);
    }
}

resource_type!(Environment);

impl Environment {
    /// Adds a future. Returns `false` if it has ended, and takes none.
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

    /// Kills the futures that are open. Returns their number.
    pub fn kill(&self, env: Env<'_>, ends: bool) -> usize {
        let members = {
            let mut members = self.0.lock();
            members.ended |= ends;
            std::mem::take(&mut members.questions)
        };
        let questions = members.iter().filter_map(Weak::upgrade);
        questions.filter(|question| kill(env, question)).count()
    }
}

pub fn future_within<'a>(
    env: Env<'a>,
    resource: ResourceArc<MachineResource>,
    (module, name, version, captures, is_call): (Name, Name, u64, Term<'a>, bool),
    (named, environment): (Term<'a>, Option<ResourceArc<Environment>>),
    request: Term<'a>,
    mode: WriteMode<'a>,
) -> Term<'a> {
    let started = resource.open(env).and_then(|machine| {
        // The sponsor may be another environment's by now.
        if environment.as_ref().is_some_and(|e| e.0.lock().ended) {
            return Err(names::ended());
        }
        let sponsor = sponsor(machine, named)?;
        let behaviour = (module, name, version);
        let (behaviour, captures) = prepare(&resource, machine, behaviour, captures, mode)?;
        let (customer, asker) =
            Customer::future(env.pid(), FutureValue::new(is_call), resource.clone());
        let mut writer = Writer::new(&resource, machine, mode);
        writer.request_of(Arc::new(Awaiting::Known(customer.clone())));
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

pub fn value_within<'a>(env: Env<'a>, future: &Asker, may_take_long: bool) -> Term<'a> {
    let Some(value) = future.question().future_value() else {
        return names::unknown().encode(env);
    };
    let failed = names::future_failed();
    let term = match &mut *value.content.lock() {
        Content::Open(_) => return names::open().encode(env),
        Content::Plain(plain) => return (names::ok(), letter(env, plain)).encode(env),
        Content::Value(_, true) if !may_take_long => return names::big().encode(env),
        Content::Value(term, _) => term.clone(),
        Content::Failed(reason) => return (failed, reason.to(env)).encode(env),
    };
    (names::ok(), term.to(env)).encode(env)
}

pub fn kill(env: Env<'_>, question: &Question) -> bool {
    let Some(value) = question.future_value() else {
        return false;
    };
    let mine = question.claim();
    if mine {
        value.fail_in(env, Reason::Word(names::killed()));
    }
    mine
}
