//! Sockets that processes open.
use crate::codec::budget::WriteMode;
use crate::enter::socket::{
    connect_within, datagrams_within, dialer_within, listen_within, OptionsTerm, PlaceTerm,
};
use crate::enter::tls::{ClientTerm, ServerTerm};
use crate::held::machine::MachineResource;
use crate::term::atoms::Name;
use crate::term::resource::ResourceArc;
use rustler::{Env, Term};

/// The key of a listener, `{:error, reason}` if the system refuses, or why there is none: `:stopped`, `:no_sponsor`, `:no_io`,
/// `:several_io`, `:unknown`, `:no_tls`, or `{:bad_tls, message}`. Waits for a thread of the sponsor.
#[rustler::nif(schedule = "DirtyIo")]
fn socket_listen<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    sponsor: Name,
    place: PlaceTerm,
    session: Term<'a>,
    plan: (i32, usize, OptionsTerm),
    tls: Option<ServerTerm<'a>>,
) -> Term<'a> {
    listen_within(env, machine, sponsor, place, session, plan, tls)
}

/// The key of a socket whose connection was begun, or why there is none, as `socket_listen` says it.
#[rustler::nif(schedule = "DirtyIo")]
fn socket_connect<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    sponsor: Name,
    place: PlaceTerm,
    options: OptionsTerm,
    tls: Option<ClientTerm<'a>>,
) -> Term<'a> {
    connect_within(env, machine, sponsor, place, options, tls)
}

/// The key of a socket for datagrams, of all peers or of one, or why there is none, as `socket_listen` says it.
#[rustler::nif(schedule = "DirtyIo")]
fn socket_datagrams<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    sponsor: Name,
    place: PlaceTerm,
    peer: Option<PlaceTerm>,
    options: OptionsTerm,
) -> Term<'a> {
    datagrams_within(env, machine, sponsor, place, peer, options)
}

/// The key of an actor that connects to what is in the list, on these terms, or why there is none, as `socket_listen` says it.
#[rustler::nif(schedule = "DirtyCpu")]
fn socket_dialer<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    sponsor: Name,
    allowed: Term<'a>,
    connections: (OptionsTerm, Option<ClientTerm<'a>>),
    kept: Term<'a>,
) -> Term<'a> {
    dialer_within(
        env,
        machine,
        sponsor,
        allowed,
        connections,
        WriteMode::dirty(kept),
    )
}
