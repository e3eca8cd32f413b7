//! The functions of `Mote.Native`, and nothing else.
//!
//! A function that takes a term has up to three forms. The first, for normal schedulers, returns `:big` if the term is too large
//! for them, and `:long` if it contains a long binary. The second also takes what these binaries keep alive (codec/encode.rs).
//! The third, for dirty schedulers, takes it if it is known. A function that copies what it takes or returns has two: the first
//! returns `:big` if that would take too long on a normal scheduler.

/// A function in the two forms for normal schedulers, which differ in the [`WriteMode`](crate::codec::budget::WriteMode) that they
/// write a term with. The text is the name that both have in Elixir.
macro_rules! in_two_forms {
    ($(#[$about:meta])* $first:ident, $again:ident as $text:tt ($($arg:ident: $of:ty),*) |$env:ident, $mode:ident| $body:expr) => {
        plain_nif! {
            $(#[$about])*
            $first as $text ($($arg: $of),*) |$env| {
                let $mode = WriteMode::first();
                $body
            }
        }

        plain_nif! {
            $again as $text ($($arg: $of),*, kept: Term<'a>) |$env| {
                let $mode = WriteMode::again(kept);
                $body
            }
        }
    };
}

/// A function in these two forms, and in the form for dirty schedulers.
macro_rules! in_three_forms {
    ($(#[$about:meta])* $first:ident, $again:ident, $big:ident as $text:tt ($($args:tt)*) |$env:ident, $mode:ident| $body:expr) => {
        in_two_forms! { $(#[$about])* $first, $again as $text ($($args)*) |$env, $mode| $body }

        #[rustler::nif(schedule = "DirtyCpu")]
        #[allow(clippy::too_many_arguments)] // What a NIF takes.
        fn $big<'a>(env: Env<'a>, $($args)*, kept: Term<'a>) -> Term<'a> {
            let ($env, $mode) = (env, WriteMode::dirty(kept));
            $body
        }
    };
}

/// A function in a form for normal and one for dirty schedulers, which are told whether they may take long.
macro_rules! in_normal_and_dirty_form {
    ($(#[$about:meta])* $first:ident, $big:ident ($($args:tt)*) |$env:ident, $may_take_long:ident| $body:expr) => {
        $(#[$about])*
        #[rustler::nif]
        fn $first<'a>(env: Env<'a>, $($args)*) -> Term<'a> {
            let ($env, $may_take_long) = (env, false);
            $body
        }

        #[rustler::nif(schedule = "DirtyCpu")]
        fn $big<'a>(env: Env<'a>, $($args)*) -> Term<'a> {
            let ($env, $may_take_long) = (env, true);
            $body
        }
    };
}

pub mod actors;
pub mod batches;
pub mod desks;
pub mod drains;
pub mod fault;
pub mod futures;
pub mod images;
pub mod journals;
pub mod machines;
pub mod mail;
pub mod moves;
pub mod nodes;
pub mod outboxes;
pub mod proofs;
pub mod questions;
pub mod remarks;
pub mod replays;
pub mod room;
pub mod sockets;
pub mod surveys;
pub mod timers;
pub mod traces;
pub mod watches;
