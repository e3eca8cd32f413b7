//! Answers to questions: to the process that waits, or into the cell of a future.
use crate::deliver::mail;
use crate::held::question::{Asked, Customer};
use crate::term::atoms::{self, names};
use crate::term::send;
use mote_vm::machine::{Abort, Machine};
use mote_vm::values::foreign::Carrier;
use mote_vm::Term as Value;
use rustler::{Encoder, Env, Resource, Term};
use std::sync::atomic::Ordering::Relaxed;

impl Customer {
    /// Answers with a value of the machine, on a dispatch thread; for the claimant. Whether somebody is there.
    pub fn give(&self, machine: &dyn Carrier, value: Value<'_>) -> bool {
        match &self.question.cell {
            Some(cell) => {
                cell.answer(machine, value);
                true
            }
            None => mail::tell(machine, &self.pid, |env, decoder| {
                self.tagged(env, decoder.term(env, machine, value))
            }),
        }
    }

    /// Answers with a term, in a NIF; for the claimant. Whether somebody is there.
    pub fn give_in<'a>(&self, env: Env<'a>, answer: Term<'a>) -> bool {
        match &self.question.cell {
            Some(cell) => {
                cell.answer_in(env, answer);
                true
            }
            None => send::send_in(env, &self.pid, self.tagged(env, answer)),
        }
    }

    /// Tells that a turn was aborted that was given this customer, on a dispatch thread (invariant 2).
    pub fn aborted(&self, machine: &Machine, abort: &Abort<'_>) {
        let was_asked = match &self.asked {
            Asked::Nobody => false,
            Asked::Actor(key) => machine.is_of(*key, abort.actor),
            Asked::Launched(identity) => identity.load(Relaxed) == abort.actor.identity(),
        };
        if !was_asked || !self.claim() {
            return;
        }
        match &self.question.cell {
            Some(cell) => cell.aborted(machine, abort),
            None => {
                mail::tell(machine, &self.pid, |env, decoder| {
                    let [module, behaviour] =
                        [abort.module, abort.behaviour].map(|atom| atoms::to_term(env, atom));
                    let reason = decoder.glance(env, machine, abort.reason);
                    let why = (names::was_aborted(), module, behaviour, reason);
                    self.failed(env, why.encode(env))
                });
            }
        }
    }
}

#[rustler::resource_impl]
impl Resource for Customer {
    const IMPLEMENTS_DESTRUCTOR: bool = true;

    // Nobody is left who could answer.
    fn destructor(self, env: Env<'_>) {
        if self.claim() {
            let reason = match self.machine.running() {
                Some(_) => {
                    self.machine.questions.broken();
                    names::broken_promise()
                }
                None => names::machine_down(),
            };
            match &self.question.cell {
                Some(cell) => cell.fail_in(env, reason),
                None => {
                    let message = self.failed(env, reason.to_term(env));
                    send::send_in(env, &self.pid, message);
                }
            }
        }
    }
}
