//! Messages after some time.
use crate::codec::budget::WriteMode;
use crate::codec::encode::Writer;
use crate::enter::target::Addressee;
use crate::held::lives::present;
use crate::held::structs;
use mote_vm::base::ids::TimerId;
use rustler::{Atom, Encoder, Env, Term};

pub fn send_after_within<'a>(
    env: Env<'a>,
    target: (Term<'a>, Term<'a>, Term<'a>),
    message: Term<'a>,
    milliseconds: u64,
    mode: WriteMode<'a>,
) -> Term<'a> {
    // The timer is one of the present machine, whatever the address says.
    let target = (present(target.0), target.1, target.2);
    match arm(target, message, milliseconds, mode) {
        // The existing term: each new one would be a reference of its own to the resource.
        Ok(timer) => structs::timer(env, target.0, timer),
        Err(word) => word.encode(env),
    }
}

fn arm<'a>(
    target: (Term<'a>, Term<'a>, Term<'a>),
    message: Term<'a>,
    milliseconds: u64,
    mode: WriteMode<'a>,
) -> Result<TimerId, Atom> {
    let target = Addressee::find(target)?;
    let mut writer = Writer::new(target.resource, target.machine, mode);
    writer.term(message)?;
    writer.count_spent(message.get_env());
    target.send_after(milliseconds, writer.builder.finish())
}
