//! What a machine says about itself.
use crate::atoms;
use crate::resources::MachineResource;
use mote_vm::machine::Info;
use rustler::types::atom::Atom;
use rustler::{Encoder, Env, Term};

/// `%{counters: %{…}, memory: %{…}, sponsors: […], …}`
pub fn machine<'a>(env: Env<'a>, machine: &MachineResource, info: &Info) -> Term<'a> {
    let counters: Vec<_> = info
        .counts
        .entries()
        .into_iter()
        .map(|(name, value)| (name, value.encode(env)))
        .collect();
    let memory = [
        ("heap", info.heap_bytes.encode(env)),
        ("mapped", info.mapped_bytes.encode(env)),
        ("queues", info.queue_bytes.encode(env)),
    ];
    let sponsors: Vec<_> = machine
        .sponsors
        .iter()
        .map(|name| atoms::to_term(env, *name))
        .collect();
    let uptime = machine.started.elapsed().as_millis() as u64;
    map(
        env,
        &[
            ("counters", map(env, &counters)),
            ("memory", map(env, &memory)),
            ("sponsors", sponsors.encode(env)),
            ("inbox", info.inbox.encode(env)),
            ("references", info.handles.encode(env)),
            ("uptime", uptime.encode(env)),
        ],
    )
}

fn map<'a>(env: Env<'a>, entries: &[(&str, Term<'a>)]) -> Term<'a> {
    let entries: Vec<_> = entries
        .iter()
        .filter_map(|(name, value)| Some((Atom::from_str(env, name).ok()?, *value)))
        .collect();
    // The names are distinct, so there is a map.
    Term::map_from_pairs(env, &entries).unwrap_or_else(|_| Term::map_new(env))
}
