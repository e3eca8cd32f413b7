//! Answers that a call returns without a message: while a process asks and its own thread runs the turns that lead to the answer,
//! the answer becomes a term of that very call, and nothing waits.
//!
//! Invariants:
//! 1. Only the thread that runs the call finds it here, and only while it is in [`during`]: so the environment is that of
//!    a NIF that has not returned.
//! 2. A thread that leaves an answer here has claimed the question, so it is left once.
use crate::codec::decode::Decoder;
use crate::held::call::CallOutcome;
use crate::held::question::Question;
use rustler::sys::{ErlNifEnv, ErlNifTerm};
use rustler::{Env, Term};
use std::cell::Cell;

#[derive(Clone, Copy)]
struct Caller {
    question: *const Question,
    env: *mut ErlNifEnv,
    returned: Option<ErlNifTerm>,
}

thread_local! {
    static CALLER: Cell<Option<Caller>> = const { Cell::new(None) };
}

/// Puts things back however the call ends.
struct Ends(Option<Caller>);

impl Drop for Ends {
    fn drop(&mut self) {
        CALLER.set(self.0);
    }
}

/// Runs a call on a normal scheduler. Returns its result, and the answer that the call returns if it was answered meanwhile.
pub fn during<'a, R>(
    env: Env<'a>,
    question: &Question,
    run: impl FnOnce() -> R,
) -> (R, Option<Term<'a>>) {
    let caller = Caller {
        question,
        env: env.as_c_arg(),
        returned: None,
    };
    let ends = Ends(CALLER.replace(Some(caller)));
    let result = run();
    let returned = CALLER.get().and_then(|caller| caller.returned);
    drop(ends);
    // SAFETY: made in `env` by `leave`.
    let returned = returned.map(|term| unsafe { Term::new(env, term) });
    (result, returned)
}

/// Returns whether the call that asks this question runs on this thread.
pub fn is_here(question: &Question) -> bool {
    CALLER
        .get()
        .is_some_and(|caller| std::ptr::eq(caller.question, question))
}

/// Leaves what `build` makes to the call that runs here.
pub fn leave(
    outcome: CallOutcome,
    build: impl for<'a> FnOnce(Env<'a>, &mut Decoder) -> Term<'a>,
) -> bool {
    let Some(caller) = CALLER.get() else {
        return false;
    };
    let lifetime = ();
    // SAFETY: invariant 1; `lifetime` gives this borrow of the environment a lifetime of its own.
    let env = unsafe { Env::new(&lifetime, caller.env) };
    let term = build(env, &mut Decoder::default());
    let returned = Some(outcome.returned(env, term).as_c_arg());
    CALLER.set(Some(Caller { returned, ..caller }));
    true
}
