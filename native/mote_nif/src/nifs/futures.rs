//! Futures: a question whose answer is kept, for any process to look at, as often as it likes.
//!
//! A future is a [`Customer`](crate::held::question::Customer) like any other to the machine. Its answer goes to no
//! mailbox but into a [`FutureValue`](crate::held::future_value::FutureValue); callers that wait for it are customers of their
//! own, which are notified when it is there.
use crate::codec::budget::WriteMode;
use crate::deliver::future_value::send_to;
use crate::enter::future::{future_within, kill, value_within, Environment};
use crate::enter::question::inquiry;
use crate::held::future_value::Content;
use crate::held::machine::MachineResource;
use crate::held::question::Asker;
use crate::term::atoms::{names, Name};
use crate::term::resource::ResourceArc;
use rustler::{Encoder, Env, Term};

/// Makes an environment, which holds futures together.
#[rustler::nif]
fn environment(env: Env<'_>) -> Term<'_> {
    ResourceArc::new(Environment::default()).encode(env)
}

/// Kills all futures of an environment that are open, and if it `ends` lets no other start in it. Returns the number killed.
#[rustler::nif(schedule = "DirtyCpu")]
fn environment_kill(env: Env<'_>, environment: &Environment, ends: bool) -> usize {
    environment.kill(env, ends)
}

in_three_forms! {
    /// Runs a behaviour with captures for one request, as an actor that nobody else knows; the last of its fields says
    /// whether that is one call, done in one turn. Answers with the future's side of it, or why not: `:big`, `:long`,
    /// `:load`, `:stopped`, `:no_memory`, `:no_sponsor`, `:ended` (the environment has).
    future, future_again, future_big as "future" (
        machine: ResourceArc<MachineResource>,
        behaviour: (Name, Name, u64, Term<'a>, bool),
        sponsor: Term<'a>,
        request: Term<'a>,
        environment: Option<ResourceArc<Environment>>
    ) |env, mode| future_within(env, machine, behaviour, (sponsor, environment), request, mode)
}

in_normal_and_dirty_form! {
    /// Returns the content of a future: `:open`, `{:ok, value}`, `{:failed, reason}`, `{:failed, :aborted, reason}`, or `:big` when it
    /// takes long to copy.
    future_value, future_value_big (
        future: &Asker
    ) |env, may_take_long| value_within(env, future, may_take_long)
}

/// Returns whether a future holds something.
#[rustler::nif]
fn future_finished(future: &Asker) -> bool {
    let value = future.question().future_value();
    value.is_some_and(|value| !matches!(*value.content.lock(), Content::Open(_)))
}

/// Waits in the calling process until a future holds something: it gets `{tag, :ok}` then, unless it cancels what this
/// answers with.
#[rustler::nif]
fn future_wait<'a>(env: Env<'a>, machine: Term<'a>, future: &Asker, tag: Term<'a>) -> Term<'a> {
    inquiry(env, machine, tag, |customer| {
        let Some(value) = future.question().future_value() else {
            return Err(names::unknown());
        };
        let mut content = value.content.lock();
        if let Content::Open(waiting) = &mut *content {
            // Processes that have given up do not pile up.
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
