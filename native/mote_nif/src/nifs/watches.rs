//! The watcher's side of timers that fire when processes end.
use crate::held::machine::MachineResource;
use crate::held::watches::ProcessKey;
use crate::term::atoms::names;
use rustler::{Atom, Encoder, Env, Term};

/// The calling process monitors processes from now on: the message `{:mote_watch, pid}` says which, and `:mote_sweep` that
/// `machine_sweep` is to be called.
#[rustler::nif]
fn machine_watcher(env: Env<'_>, machine: &MachineResource) -> Atom {
    if let Some(running) = machine.any() {
        machine.watches.watched_by(env.pid(), running.account());
    }
    names::ok()
}

/// Fires the timers that wait for the end of these processes. There may be a million timers.
#[rustler::nif(schedule = "DirtyCpu")]
fn machine_processes_ended(machine: &MachineResource, pids: Vec<Term<'_>>) -> Atom {
    let ended = |pid: &Term<'_>| machine.watches.ended(&ProcessKey::of(*pid));
    let timers: Vec<_> = pids.iter().flat_map(ended).collect();
    if let Some(running) = machine.running() {
        running.fire_now(timers);
    }
    names::ok()
}

/// Forgets timers that were cancelled. Returns the processes for which none is left, which need not be monitored any more, and whether
/// there is more to forget by now.
#[rustler::nif(schedule = "DirtyCpu")]
fn machine_sweep<'a>(env: Env<'a>, machine: &MachineResource) -> (Vec<Term<'a>>, bool) {
    let Some(running) = machine.running() else {
        return (Vec::new(), false);
    };
    let (gone, again) = machine.watches.sweep(|timer| running.is_armed(timer));
    let pid = |key: ProcessKey| match key {
        ProcessKey::Here(process) => Some(process.encode(env)),
        ProcessKey::Abroad(written) => Some(env.binary_to_term(&written)?.0),
    };
    (gone.into_iter().filter_map(pid).collect(), again)
}
