//! Answers to questions: as a message to the process that waits, as the result of the call that has asked, or into the value of a
//! future.
use crate::codec::decode::Decoder;
use crate::deliver::at_once;
use crate::deliver::mail;
use crate::deliver::message::post;
use crate::held::call::{Call, CallOutcome, Early};
use crate::held::machine::MachineResource;
use crate::held::question::{AnswerRoute, Asked, Customer, Question};
use crate::held::reason::Reason;
use crate::term::atoms::{self, names};
use crate::term::own_term::OwnTerm;
use crate::term::resource::Resource;
use crate::term::send;
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::machine::{Abort, Machine};
use mote_vm::values::foreign::Carrier;
use mote_vm::Term as VmTerm;
use rustler::{Atom, Encoder, Env, Term};
use std::sync::atomic::Ordering::Relaxed;

/// An answer of more terms than this is sent as a message instead of being copied by the process that asked.
const LARGE: usize = 256;

impl Customer {
    /// Answers with a value of the machine, on a dispatch thread or a stand-in; for the claimant. Returns whether somebody is there.
    pub fn give(&self, machine: &dyn Carrier, value: VmTerm<'_>) -> bool {
        match &self.question.route {
            AnswerRoute::Kept(future) => {
                future.answer(machine, value);
                true
            }
            AnswerRoute::Returned(call) => {
                self.end(call, Some(machine), CallOutcome::Answer, |env, decoder| {
                    decoder.message(env, machine, value)
                })
            }
            AnswerRoute::Message => mail::tell(machine, &self.pid, |env, decoder| {
                self.tagged(env, decoder.message(env, machine, value))
            }),
        }
    }

    /// Answers with a term, in a NIF; for the claimant. Returns whether somebody is there.
    pub fn give_in<'a>(&self, env: Env<'a>, answer: Term<'a>) -> bool {
        match &self.question.route {
            AnswerRoute::Kept(future) => {
                future.answer_in(env, answer);
                true
            }
            AnswerRoute::Returned(call) => self.end_in(call, env, answer),
            AnswerRoute::Message => send::send_in(env, &self.pid, self.tagged(env, answer)),
        }
    }

    /// Ends the question of a call with the answer that `build` makes. Messages that the machine sent to the process before come before
    /// it.
    fn end(
        &self,
        call: &Call,
        machine: Option<&dyn Carrier>,
        outcome: CallOutcome,
        build: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>,
    ) -> bool {
        let has_mail = || machine.is_some_and(|machine| mail::is_waited_for_by(machine, &self.pid));
        if at_once::is_here(&self.question) && !has_mail() {
            return at_once::leave(outcome, build);
        }
        if let Some(tag) = call.tag() {
            return self.post(machine, |env, decoder| {
                let term = build(env, decoder);
                outcome.message(env, tag.to(env), term)
            });
        }
        let mut is_large = false;
        let term = mail::assembled(|env, decoder| {
            decoder.may_leave();
            let term = build(env, decoder);
            is_large = decoder.nodes() > LARGE;
            term
        });
        let early = Early {
            outcome,
            term,
            is_large,
        };
        match call.keep(early) {
            None => true,
            // It waits since a moment ago.
            Some((tag, early)) => {
                let message = early.tagged(&tag);
                match machine.and_then(|machine| Some((machine, mail::of(machine)?))) {
                    Some((machine, mail)) if mail.postman.get().is_some() => {
                        mail.leave_assembled(machine, &self.pid, message);
                        true
                    }
                    _ => message.send(&self.pid),
                }
            }
        }
    }

    /// Ends the call with a term, in a NIF. Returns false if its process is gone.
    fn end_in<'a>(&self, call: &Call, env: Env<'a>, answer: Term<'a>) -> bool {
        let tag = call.tag().or_else(|| {
            let early = Early {
                outcome: CallOutcome::Answer,
                term: OwnTerm::copy(answer).into(),
                // How large it is cannot be seen from here.
                is_large: true,
            };
            call.keep(early).map(|(tag, _)| tag)
        });
        tag.is_none_or(|tag| {
            let message = CallOutcome::Answer.message(env, tag.to(env), answer);
            send::send_in(env, &self.pid, message)
        })
    }

    fn post(
        &self,
        machine: Option<&dyn Carrier>,
        build: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>,
    ) -> bool {
        match machine {
            Some(machine) => mail::tell(machine, &self.pid, build),
            None => post(&self.pid, build),
        }
    }

    /// Registers that the process waits from now on for a message with that tag. Returns the answer that came before, if there is one.
    /// That answer becomes a message all the same if it is large, or if the machine has sent something that comes before it.
    pub fn wait<'a>(
        question: &Question,
        env: Env<'a>,
        resource: &MachineResource,
        tag: Term<'a>,
    ) -> Option<Term<'a>> {
        question.waits();
        let call = question.call()?;
        let early = call.wait(resource.tags.copy(tag))?;
        let pid = env.pid();
        let machine = resource.any();
        let comes_after = machine.filter(|machine| mail::is_waited_for_by(*machine, &pid));
        if comes_after.is_none() && !early.is_large {
            return Some(early.outcome.returned(env, early.term.finish().to(env)));
        }
        let message = early.tagged(&OwnTerm::copy(tag));
        let leaves = comes_after.or(machine.filter(|_| message.steps() > 0));
        match leaves.and_then(|machine| Some((machine, mail::of(machine)?))) {
            Some((machine, mail)) => mail.leave_assembled(machine, &pid, message),
            None => {
                message.send(&pid);
            }
        }
        None
    }

    /// Closes a question that nobody is left to answer, for the holder of the last reference.
    pub fn abandon(&self) {
        if !self.claim() {
            return;
        }
        let reason = self.missing();
        if let Some(call) = self.question.call() {
            let machine = self.machine.any();
            self.end(
                call,
                machine.map(|machine| machine as &dyn Carrier),
                CallOutcome::Failed,
                |env, _| reason.to(env),
            );
        }
    }

    /// Returns the reason why nobody is left to answer, and counts that.
    fn missing(&self) -> Reason {
        if self.machine.running().is_none() {
            return Reason::Word(names::machine_down());
        }
        self.machine.questions.broken();
        let lost = self.question.take_lost();
        lost.unwrap_or_else(|| Reason::Word(names::broken_promise()))
    }

    /// Says why there will be no answer, on a dispatch thread; for the claimant.
    fn fail(
        &self,
        machine: &dyn Carrier,
        why: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>,
    ) {
        match &self.question.route {
            AnswerRoute::Kept(future) => future.fail(machine, why),
            AnswerRoute::Returned(call) => {
                self.end(call, Some(machine), CallOutcome::Failed, why);
            }
            AnswerRoute::Message => {
                mail::tell(machine, &self.pid, |env, decoder| {
                    let why = why(env, decoder);
                    self.failed(env, why)
                });
            }
        }
    }

    /// Says that there was an answer that could not be written, on a dispatch thread.
    pub fn too_large(&self, machine: &dyn Carrier) {
        if self.claim() {
            self.fail(machine, |env, _| names::answer_too_large().encode(env));
        }
    }

    /// Tells that a turn was aborted that was given this customer, on a dispatch thread (invariant 2).
    pub fn aborted(&self, machine: &Machine, abort: &Abort<'_>) {
        let was_asked = match &self.asked {
            Asked::Nobody => false,
            Asked::Actor(key) => {
                machine.is_of(*key, abort.actor) || self.question.is_passed_to(abort.actor)
            }
            Asked::Launched(identity) => identity.load(Relaxed) == abort.actor.identity(),
        };
        if !was_asked {
            let broken = names::broken_promise();
            let lost = OwnTerm::make(|env| {
                let mut decoder = Decoder::default();
                Some(why(env, &mut decoder, broken, machine, abort))
            });
            lost.into_iter()
                .for_each(|lost| self.question.note_lost(Reason::About(lost)));
        } else if self.claim() {
            self.fail(machine, |env, decoder| {
                why(env, decoder, names::was_aborted(), machine, abort)
            });
        }
    }

    /// Notes that this customer was given to a behaviour that has no clause for its message, on a dispatch thread.
    pub fn ignored(&self, (module, behaviour): (VmAtom, VmAtom)) {
        self.question.note_lost(Reason::Ignored(module, behaviour));
    }
}

/// Returns the reason for the process that asked: `word`, the aborted turn's module and behaviour, and why it was aborted.
fn why<'a>(
    env: Env<'a>,
    decoder: &mut Decoder,
    word: Atom,
    machine: &Machine,
    abort: &Abort<'_>,
) -> Term<'a> {
    let [module, behaviour] = [abort.module, abort.behaviour].map(|atom| atoms::to_term(env, atom));
    let reason = decoder.reason(env, machine, abort.reason);
    (word, module, behaviour, reason).encode(env)
}

impl Resource for Customer {
    // Nobody is left to answer.
    fn destructor(self, env: Env<'_>) {
        if self.question.call().is_some() {
            self.abandon();
        } else if self.claim() {
            let reason = self.missing();
            match self.question.future_value() {
                Some(future) => future.fail_in(env, reason),
                None => {
                    let message = self.failed(env, reason.to(env));
                    send::send_in(env, &self.pid, message);
                }
            }
        }
    }
}

resource_type!(Customer);
