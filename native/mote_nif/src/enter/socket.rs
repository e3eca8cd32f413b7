//! Sockets that processes open.
use crate::codec::budget::WriteMode;
use crate::codec::encode::Writer;
use crate::enter::tls::{client_seals, server_seals, ClientTerm, ServerTerm, TlsError};
use crate::held::handle::{parse_key, Handle};
use crate::held::machine::MachineResource;
use crate::term::atoms::{self, names, Name};
use crate::term::resource::ResourceArc;
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::machine::net::{Listening, OpenError, SocketPlace};
use mote_vm::machine::Machine;
use mote_vm::values::handles::Key;
use rustler::{Atom, Decoder, Encoder, Env, Error, NifResult, Term};

/// A place: a path, or the text of an IP address and a port.
pub struct PlaceTerm(SocketPlace);

impl<'a> Decoder<'a> for PlaceTerm {
    fn decode(term: Term<'a>) -> NifResult<PlaceTerm> {
        if let Ok(path) = term.decode() {
            return Ok(PlaceTerm(SocketPlace::Path(path)));
        }
        let (ip, port): (String, u16) = term.decode()?;
        let ip = ip.parse().map_err(|_| Error::BadArg)?;
        Ok(PlaceTerm(SocketPlace::Port(ip, port)))
    }
}

/// The sponsor of that name; `nil` is the only one that there is.
fn named(Name(sponsor): Name) -> Option<VmAtom> {
    (sponsor != VmAtom::NIL).then_some(sponsor)
}

pub fn listen_within<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    sponsor: Name,
    PlaceTerm(place): PlaceTerm,
    session: Term<'a>,
    (backlog, most, nodelay, max_unsent): (i32, usize, bool, Option<usize>),
    tls: Option<ServerTerm<'a>>,
) -> Term<'a> {
    let seals = match tls.as_ref().map(server_seals).transpose() {
        Ok(seals) => seals,
        Err(error) => return refused(env, error),
    };
    let plan = Listening {
        backlog,
        most,
        nodelay,
        max_unsent,
        seals,
    };
    opened(env, machine, |machine| {
        let session = parse_key(session).ok_or(OpenError::Unknown)?;
        machine.listen(named(sponsor), &place, session, &plan)
    })
}

pub fn connect_within<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    sponsor: Name,
    PlaceTerm(place): PlaceTerm,
    nodelay: bool,
    tls: Option<ClientTerm<'a>>,
) -> Term<'a> {
    let seals = match tls.as_ref().map(client_seals).transpose() {
        Ok(seals) => seals,
        Err(error) => return refused(env, error),
    };
    opened(env, machine, |machine| {
        machine.connect(named(sponsor), &place, nodelay, seals.as_deref())
    })
}

fn refused(env: Env<'_>, error: TlsError) -> Term<'_> {
    match error {
        TlsError::Missing => names::no_tls().encode(env),
        TlsError::Bad(message) => (names::bad_tls(), message).encode(env),
    }
}

pub fn datagrams_within<'a>(
    env: Env<'a>,
    machine: ResourceArc<MachineResource>,
    sponsor: Name,
    PlaceTerm(place): PlaceTerm,
    peer: Option<PlaceTerm>,
) -> Term<'a> {
    let peer = peer.map(|PlaceTerm(peer)| peer);
    opened(env, machine, |machine| {
        machine.datagrams(named(sponsor), &place, peer.as_ref())
    })
}

pub fn dialer_within<'a>(
    env: Env<'a>,
    resource: ResourceArc<MachineResource>,
    sponsor: Name,
    allowed: Term<'a>,
    mode: WriteMode<'a>,
) -> Term<'a> {
    let parcel = || {
        let mut writer = Writer::new(&resource, resource.open(env)?, mode);
        writer.is_for_heap();
        writer.all(&[allowed])?;
        Ok(writer.builder.finish())
    };
    match parcel() {
        Ok(allowed) => opened(env, resource.clone(), |machine| {
            machine.dialer(named(sponsor), allowed)
        }),
        Err(word) => {
            let word: Atom = word;
            word.encode(env)
        }
    }
}

fn opened<'a>(
    env: Env<'a>,
    resource: ResourceArc<MachineResource>,
    open: impl FnOnce(&Machine) -> Result<Key, OpenError>,
) -> Term<'a> {
    let opened = match resource.open(env) {
        Ok(machine) => open(machine),
        Err(word) => return word.encode(env),
    };
    match opened {
        Ok(key) => Handle::new(resource.clone(), key).key(env),
        Err(OpenError::System(reason)) => (names::error(), atoms::to_term(env, reason)).encode(env),
        Err(OpenError::NoSponsor) => names::no_sponsor().encode(env),
        Err(OpenError::NoIo) => names::no_io().encode(env),
        Err(OpenError::SeveralIo) => names::several_io().encode(env),
        Err(OpenError::Stopped) => names::stopped().encode(env),
        Err(OpenError::Unknown) => names::unknown().encode(env),
    }
}
