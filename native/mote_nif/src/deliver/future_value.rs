//! Filling futures, and notifying the processes that wait for them.
use crate::codec::budget::LARGE;
use crate::codec::decode::Decoder;
use crate::deliver::mail::tell;
use crate::deliver::message::post;
use crate::held::aside::{aside, FEW};
use crate::held::future_value::{Content, FutureValue};
use crate::held::question::Customer;
use crate::held::reason::Reason;
use crate::term::atoms::names;
use crate::term::own_term::OwnTerm;
use crate::term::resource::ResourceArc;
use crate::term::send::send_in;
use mote_vm::boundary::outbox::Letters;
use mote_vm::values::foreign::Carrier;
use mote_vm::Term as VmTerm;
use rustler::{Encoder, Env, Term};

impl FutureValue {
    /// Fills it with a value of the machine, on a dispatch thread.
    pub fn answer(&self, machine: &dyn Carrier, value: VmTerm<'_>) {
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

    /// Says why there will be no answer, on a dispatch thread.
    pub fn fail(
        &self,
        machine: &dyn Carrier,
        why: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>,
    ) {
        if let Some(term) = OwnTerm::make(|env| Some(why(env, &mut Decoder::default()))) {
            post_to(machine, self.fill(Content::Failed(Reason::About(term))));
        }
    }

    /// Fills it with a term, in a NIF.
    pub fn answer_in<'a>(&self, env: Env<'a>, term: Term<'a>) {
        // It may be of any size: that is not known here.
        send_to(env, self.fill(Content::Value(OwnTerm::copy(term), true)));
    }

    /// Says that there will be no answer, in a NIF or a destructor.
    pub fn fail_in(&self, env: Env<'_>, reason: Reason) {
        send_to(env, self.fill(Content::Failed(reason)));
    }
}

pub fn post_to(machine: &dyn Carrier, waiting: Vec<ResourceArc<Customer>>) {
    for customer in waiting.iter().filter(|customer| customer.claim()) {
        tell(machine, customer.pid(), |env, _| {
            customer.tagged(env, names::ok().encode(env))
        });
    }
}

pub fn send_to(env: Env<'_>, waiting: Vec<ResourceArc<Customer>>) {
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
