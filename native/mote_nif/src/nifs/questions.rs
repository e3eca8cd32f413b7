//! Questions: the asking process waits for one message, and gets no other, however late an answer comes.
use crate::codec::budget::WriteMode;
use crate::enter::question::{answer_within, ask_within, call_within, request_within, wait_within};
use crate::held::question::{Asker, Closed};
use crate::term::atoms::names;
use rustler::{Encoder, Env, Term};

in_two_forms! {
    /// Sends `{customer, request}` for a process that waits for the answer at once, and runs the turns itself while the
    /// machine's thread sleeps, for some tens of microseconds at most. Answers with `{:ok, answer}` or `{:mote_failed, reason}` if
    /// that has led to an end of the question; with what can cancel it if it is open, to be given to `ask_wait`; or why it was not
    /// asked: `:big`, `:long`, `:stopped`, `:unknown`, `:no_sponsor`, `:full`, `:full_wait`, `:no_memory`.
    ask, ask_again as "ask" (
        machine: Term<'a>,
        key: Term<'a>,
        sponsor: Term<'a>,
        request: Term<'a>
    ) |env, mode| call_within(env, (machine, key, sponsor), request, mode)
}

/// Begins to wait for what `ask` has left open: answers as that does if the question has ended since, and otherwise with
/// what can cancel it. Then the calling process gets one message, as of `ask_async`.
#[rustler::nif]
fn ask_wait<'a>(env: Env<'a>, machine: Term<'a>, asker: Term<'a>, tag: Term<'a>) -> Term<'a> {
    wait_within(env, machine, asker, tag)
}

in_three_forms! {
    /// Sends `{customer, request}` for a process that does something else meanwhile; answers with what can cancel it, or why
    /// not, as above. The process gets one message, `{tag, answer}` or `{tag, :mote_failed, reason}`, unless it cancels
    /// first; the reason is `{:aborted, module, behaviour, reason}` if the turn was aborted that was given the question.
    ask_async, ask_async_again, ask_async_big as "ask_async" (
        machine: Term<'a>,
        key: Term<'a>,
        sponsor: Term<'a>,
        request: Term<'a>,
        tag: Term<'a>
    ) |env, mode| ask_within(env, (machine, key, sponsor), (request, tag), mode)
}

in_three_forms! {
    /// Sends a request of Mote's own, as `ask_async` does. It is not refused where the sponsor is full.
    request, request_again, request_big as "request" (
        machine: Term<'a>,
        key: Term<'a>,
        request: Term<'a>,
        tag: Term<'a>
    ) |env, mode| request_within(env, (machine, key), (request, tag), mode)
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

/// Returns whether the question was ended by `cancel`.
#[rustler::nif]
fn cancelled(asker: &Asker) -> bool {
    asker.is_closed()
}

in_normal_and_dirty_form! {
    /// Answers from a process: `:ok`, `:closed` when there was an answer before or nobody waits any more, `:unknown` when that is not a
    /// customer, `:big` when the answer must be kept, since that copies it, whatever its size.
    answer, answer_big (
        customer: Term<'a>,
        value: Term<'a>
    ) |env, may_take_long| answer_within(env, customer, value, may_take_long).encode(env)
}
