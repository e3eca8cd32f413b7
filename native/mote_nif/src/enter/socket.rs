//! Sockets that processes open.
use crate::codec::budget::WriteMode;
use crate::codec::encode::Writer;
use crate::enter::tls::{client_seals, server_seals, ClientTerm, Seals, ServerTerm, TlsError};
use crate::held::handle::{parse_key, Handle};
use crate::held::machine::MachineResource;
use crate::term::atoms::{self, names, Name};
use crate::term::resource::ResourceArc;
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::machine::net::{Listening, OpenError, SocketOptions, SocketPlace};
use mote_vm::machine::Machine;
use mote_vm::values::handles::Key;
use rustler::{Atom, Decoder, Encoder, Env, Error, NifResult, NifTuple, Term};

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

/// What holds for sockets: `{nodelay, max_unsent | nil}`.
#[derive(NifTuple)]
pub struct OptionsTerm {
    nodelay: bool,
    max_unsent: Option<usize>,
}

impl OptionsTerm {
    fn without_seals(self) -> SocketOptions {
        SocketOptions {
            nodelay: self.nodelay,
            max_unsent: self.max_unsent,
            seals: None,
        }
    }

    /// The options, with what seals the connections if anything does.
    fn with(self, seals: Option<Seals>) -> Result<SocketOptions, TlsError> {
        let seals = seals.transpose()?;
        Ok(SocketOptions {
            seals,
            ..self.without_seals()
        })
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
    (backlog, most, options): (i32, usize, OptionsTerm),
    tls: Option<ServerTerm<'a>>,
) -> Term<'a> {
    let connections = match options.with(tls.as_ref().map(server_seals)) {
        Ok(options) => options,
        Err(error) => return refused(env, error),
    };
    let plan = Listening {
        backlog,
        most,
        connections,
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
    options: OptionsTerm,
    tls: Option<ClientTerm<'a>>,
) -> Term<'a> {
    match options.with(tls.as_ref().map(client_seals)) {
        Ok(options) => opened(env, machine, |machine| {
            machine.connect(named(sponsor), &place, options)
        }),
        Err(error) => refused(env, error),
    }
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
    options: OptionsTerm,
) -> Term<'a> {
    let peer = peer.map(|PlaceTerm(peer)| peer);
    let options = options.without_seals();
    opened(env, machine, |machine| {
        machine.datagrams(named(sponsor), &place, peer.as_ref(), options)
    })
}

pub fn dialer_within<'a>(
    env: Env<'a>,
    resource: ResourceArc<MachineResource>,
    sponsor: Name,
    allowed: Term<'a>,
    (options, tls): (OptionsTerm, Option<ClientTerm<'a>>),
    mode: WriteMode<'a>,
) -> Term<'a> {
    let options = match options.with(tls.as_ref().map(client_seals)) {
        Ok(options) => options,
        Err(error) => return refused(env, error),
    };
    let parcel = || {
        let mut writer = Writer::new(&resource, resource.open(env)?, mode);
        writer.is_for_heap();
        // Its one capture, of two parts.
        writer.builder.tuple(1);
        writer.builder.tuple(2);
        writer.term(allowed)?;
        Ok(writer.builder)
    };
    match parcel() {
        Ok(allowed) => opened(env, resource.clone(), |machine| {
            machine.dialer(named(sponsor), allowed, options)
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
