//! Sockets that are opened from outside.
//!
//! What may fail at once fails here, on the calling thread: a port in use, an address that is none. The rest is done by a thread of
//! the sponsor, to which the socket then belongs.
use super::{BehaviourVersion, Machine};
use crate::base::atom::Atom;
use crate::boundary::parcel::Builder;
pub use crate::boundary::sockets::place::SocketPlace;
pub use crate::boundary::sockets::record::SocketOptions;
use crate::boundary::sockets::record::{SocketKind, SocketTerms};
pub use crate::boundary::sockets::seal;
use crate::platform::failure;
use crate::threads::inbox::Entry;
use crate::threads::net::{DialerTerms, ListenerPlan, Opening};
use crate::threads::sponsor::Sponsor;
use crate::threads::thread::task;
use crate::values::actor::BehaviourId;
use crate::values::handles::Key;
use std::io;
use std::sync::mpsc::channel;
use std::sync::Arc;

/// The settings of a listener.
#[derive(Clone)]
pub struct Listening {
    /// Connections that may wait to be accepted.
    pub backlog: i32,
    /// The most connections that are open at once.
    pub most: usize,
    /// What holds for each connection.
    pub connections: SocketOptions,
}

/// The reason why a socket could not be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenError {
    /// The system refused, for the reason of that name.
    System(Atom),
    /// There is no sponsor of that name.
    NoSponsor,
    /// There is no I/O sponsor, or that sponsor is none.
    NoIo,
    /// There are several I/O sponsors.
    SeveralIo,
    /// The machine has stopped, or the sponsor was removed meanwhile.
    Stopped,
    /// The session is not an actor of this machine.
    Unknown,
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> OpenError {
        OpenError::System(failure::name(&error))
    }
}

impl Machine {
    /// Opens a listener there. Sessions are made like the actor of `session`, which nobody may send to: each is told of its
    /// connection. The caller owns the handle.
    pub fn listen(
        &self,
        sponsor: Option<Atom>,
        place: &SocketPlace,
        session: Key,
        plan: &Listening,
    ) -> Result<Key, OpenError> {
        let sponsor = self.io_sponsor(sponsor)?;
        let session = self.hold(session).ok_or(OpenError::Unknown)?;
        let socket = place.listen(plan.backlog)?;
        let pinned = Some(sponsor.id);
        let key = self
            .handles()
            .acquire(session.actor, session.pinned.or(pinned));
        let opened = self.open(
            &sponsor,
            Opening::Listener(ListenerPlan {
                socket,
                session: key,
                most: plan.most,
                options: plan.connections.clone(),
            }),
        );
        if opened.is_err() {
            self.release(key);
        }
        opened
    }

    /// Begins a connection. The caller owns the handle of the socket, which answers when there is one. It may be that the system
    /// says at once that there will be none.
    pub fn connect(
        &self,
        sponsor: Option<Atom>,
        place: &SocketPlace,
        options: SocketOptions,
    ) -> Result<Key, OpenError> {
        let sponsor = self.io_sponsor(sponsor)?;
        let socket = place.connect(options.nodelay)?;
        let (kind, terms) = (SocketKind::Connecting, terms(options));
        self.open(&sponsor, Opening::Socket(socket, kind, terms, place.ip()))
    }

    /// Opens a socket for datagrams there, which gets those of all peers, or of that one. The caller owns the handle.
    pub fn datagrams(
        &self,
        sponsor: Option<Atom>,
        place: &SocketPlace,
        peer: Option<&SocketPlace>,
        options: SocketOptions,
    ) -> Result<Key, OpenError> {
        let sponsor = self.io_sponsor(sponsor)?;
        let socket = place.datagrams(peer)?;
        let (kind, terms) = (SocketKind::Datagrams, terms(options));
        self.open(&sponsor, Opening::Socket(socket, kind, terms, None))
    }

    /// Makes an actor that makes connections for whoever holds it, to where it may: `parcel` begins its capture
    /// with a list of places, and lacks the terms (threads/net/dial.rs). The caller owns the handle.
    pub fn dialer(
        &self,
        sponsor: Option<Atom>,
        mut parcel: Builder,
        options: SocketOptions,
    ) -> Result<Key, OpenError> {
        let sponsor = self.io_sponsor(sponsor)?;
        parcel.foreign(Arc::new(DialerTerms(terms(options))));
        let behaviour = BehaviourVersion {
            id: BehaviourId::DIALER,
            program: self.0.program.clone(),
        };
        let made = self.create(&behaviour, Some(sponsor.id), parcel.finish());
        made.map_err(|_| OpenError::System(Atom::NO_MEMORY))
    }

    /// Returns the sponsor of that name, or the only I/O sponsor.
    fn io_sponsor(&self, name: Option<Atom>) -> Result<Arc<Sponsor>, OpenError> {
        if let Some(name) = name {
            let sponsor = self.sponsors().by_name(name).ok_or(OpenError::NoSponsor)?;
            return match sponsor.net {
                Some(_) => Ok(sponsor),
                None => Err(OpenError::NoIo),
            };
        }
        let mut found = self
            .sponsors()
            .all()
            .into_iter()
            .filter(|s| s.net.is_some());
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(OpenError::NoIo),
            _ => Err(OpenError::SeveralIo),
        }
    }

    /// Lets a thread of the sponsor open it.
    fn open(&self, sponsor: &Sponsor, opening: Opening) -> Result<Key, OpenError> {
        let (told, asked) = channel();
        let open = task(move |thread| {
            // Whoever asked waits for it.
            let _ = told.send(thread.open_socket(opening));
        });
        self.push(sponsor.place_socket(), Entry::Task(open));
        let opened = asked.recv().map_err(|_| OpenError::Stopped)?;
        opened.map_err(|error| match error.kind() {
            // The thread that took the task has no sockets.
            io::ErrorKind::NotConnected => OpenError::Stopped,
            _ => error.into(),
        })
    }
}

/// The terms of sockets that nobody has accepted.
fn terms(options: SocketOptions) -> Arc<SocketTerms> {
    Arc::new(SocketTerms {
        options,
        accepting: None,
    })
}
