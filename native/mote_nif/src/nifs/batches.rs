//! Many messages in one call.
use crate::codec::budget::WriteMode;
use crate::enter::batch::{send_to_each, send_to_one};
use rustler::{Env, Term};

in_normal_and_dirty_form! {
    /// Sends a list to one actor: how many were accepted, what is left, and why: `:ok` (nothing is), `:more` (call again),
    /// `:big` (the first one that is left is too much for this scheduler), or what `send` says.
    send_many, send_many_big (
        machine: Term<'a>,
        key: Term<'a>,
        sponsor: Term<'a>,
        messages: Term<'a>
    ) |env, may_take_long| {
        send_to_one(env, (machine, key, sponsor), messages, WriteMode::on(may_take_long))
    }
}

in_normal_and_dirty_form! {
    /// Sends `{address, message}` for each in a list, as `send_many`; also `:other`, when the first one that is left is for
    /// something else.
    send_pairs, send_pairs_big (
        pairs: Term<'a>,
        name: Term<'a>
    ) |env, may_take_long| send_to_each(env, pairs, name, WriteMode::on(may_take_long))
}
