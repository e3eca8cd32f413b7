//! The terms of foreign values.
use crate::held::binaries::LongBinary;
use crate::held::far::Far;
use crate::held::foreign::{Abroad, Awaiting, Elsewhere, Opaque, Process, TimerElsewhere};
use crate::held::outbox::Writable;
use crate::held::structs;
use crate::term::make::bytes;
use mote_vm::values::foreign::ForeignRef;
use rustler::{Encoder, Env, Term};

/// The term of a foreign value.
pub fn to_term<'a>(env: Env<'a>, value: &ForeignRef) -> Term<'a> {
    let any = value.as_any();
    if let Some(Process(pid)) = any.downcast_ref() {
        pid.encode(env)
    } else if let Some(Abroad(pid)) = any.downcast_ref() {
        pid.to(env)
    } else if let Some(Far { term, .. }) = any.downcast_ref() {
        term.to(env)
    } else if let Some(opaque) = any.downcast_ref::<Opaque>() {
        opaque.term.to(env)
    } else if let Some(waiting) = any.downcast_ref::<Awaiting>() {
        structs::customer(env, waiting.shown())
    } else if let Some(Writable(outbox)) = any.downcast_ref() {
        structs::outbox(env, outbox)
    } else if let Some(elsewhere) = any.downcast_ref::<Elsewhere>() {
        elsewhere.term.to(env)
    } else if let Some(TimerElsewhere { machine, timer }) = any.downcast_ref() {
        structs::timer(env, machine.encode(env), *timer)
    } else if let Some(binary) = any.downcast_ref::<LongBinary>() {
        binary.to(env)
    } else {
        bytes(env, value.bytes().unwrap_or_default())
    }
}
