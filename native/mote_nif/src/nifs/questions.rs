//! Questions: whoever asks waits for one message, and gets no other, however late an answer comes.
use crate::codec::budget::Means;
use crate::enter::question::{answer_to, ask_within, going_on, stand_in};
use crate::held::question::{Asker, Closed, Customer};
use crate::term::atoms::names;
use rustler::{Atom, Encoder, Env, Term};

in_two_forms! {
    /// Sends `{customer, request}`; answers with what can cancel it, or why not: `:big`, `:long`, `:stopped`, `:unknown`,
    /// `:no_sponsor`. The calling process gets one message, `{tag, answer}` or `{tag, :mote_failed, reason}`, unless it
    /// cancels first; the reason is `{:aborted, module, behaviour, reason}` if the turn was aborted that was given the
    /// question. It waits for that at once: so it runs the turns itself while the machine's thread sleeps, for some
    /// microseconds.
    ask, ask_again as "ask" (
        machine: Term<'a>,
        key: Term<'a>,
        sponsor: Term<'a>,
        request: Term<'a>,
        tag: Term<'a>
    ) |env, means| ask_within(env, (machine, key, sponsor), request, tag, means, stand_in)
}

in_three_forms! {
    /// The same for a process that does something else meanwhile, or that carries much.
    ask_async, ask_async_again, ask_big as "ask_async" (
        machine: Term<'a>,
        key: Term<'a>,
        sponsor: Term<'a>,
        request: Term<'a>,
        tag: Term<'a>
    ) |env, means| ask_within(env, (machine, key, sponsor), request, tag, means, going_on)
}

/// Ends a question: `true` when there will be no message, `false` when the one message has been sent or is on its way,
/// `:closed` when it had been ended before.
#[rustler::nif]
fn cancel<'a>(env: Env<'a>, asker: &Asker) -> Term<'a> {
    match asker.close() {
        Closed::Now => true.encode(env),
        Closed::Answered => false.encode(env),
        Closed::Before => names::closed().encode(env),
    }
}

/// Whether the question was ended by `cancel`.
#[rustler::nif]
fn cancelled(asker: &Asker) -> bool {
    asker.is_closed()
}

/// Answers from a process: `:ok`, `:closed` when there was an answer before or nobody waits any more, `:unknown` when
/// that is no customer, `:big` when the answer is to be kept, for that copies it, whatever its size.
#[rustler::nif]
fn answer<'a>(env: Env<'a>, customer: Term<'a>, value: Term<'a>) -> Atom {
    match customer.try_get_resource::<Customer>() {
        Some(customer) if customer.is_future() => names::big(),
        customer => answer_to(env, customer, value),
    }
}

#[rustler::nif(schedule = "DirtyCpu")]
fn answer_big<'a>(env: Env<'a>, customer: Term<'a>, value: Term<'a>) -> Atom {
    answer_to(env, customer.try_get_resource(), value)
}
