//! Sockets that begin.
use super::accept::ListenerPlan;
use super::Service;
use crate::boundary::sockets::counts::add;
use crate::boundary::sockets::record::{SocketKind, SocketRecord, SocketTerms};
use crate::boundary::sockets::seal::Sealed;
use crate::boundary::sockets::Sockets;
use crate::threads::thread::Dispatch;
use crate::values::actor::{Actor, BehaviourId, Header};
use crate::values::handles::Key;
use socket2::Socket;
use std::io::{Error, ErrorKind};
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

/// Bytes that a socket counts as for the pace of collections: with its buffers the system keeps some thousand, and only a
/// collection finds those that nobody holds any more.
const PACED: usize = 4 << 10;

/// Something to open.
pub(crate) enum Opening {
    Listener(ListenerPlan),
    Socket(Socket, SocketKind, Arc<SocketTerms>, Option<IpAddr>),
}

impl Service<'_> {
    pub(super) fn record(&self, socket: Socket, kind: SocketKind) -> SocketRecord {
        let is_unix = socket.local_addr().is_ok_and(|local| local.is_unix());
        let mut record = SocketRecord::new(socket, kind, self.context.machine.gc().begun());
        record.stops_short = is_unix;
        record
    }

    /// A socket begins on these terms, connected to a server of that address if to any. Whoever chose this thread for it has counted
    /// it.
    pub(super) fn begin(
        &mut self,
        socket: Socket,
        kind: SocketKind,
        terms: Arc<SocketTerms>,
        server: Option<IpAddr>,
    ) -> std::io::Result<(u32, *const Actor)> {
        let mut record = self.record(socket, kind);
        if let Some(seals) = &terms.options.seals {
            let seal = seals.make(server).inspect_err(|_| self.has_one_less())?;
            // A seal has bytes of its own, which come with no event.
            record.stops_short = true;
            record.sealed = Some(Box::new(Sealed::new(seal, &self.net.sockets.quota)));
        }
        record.terms = Some(terms);
        self.put(record)
    }

    /// Makes a socket an actor. Whoever chose this thread for it has counted it.
    pub(super) fn put(&mut self, record: SocketRecord) -> std::io::Result<(u32, *const Actor)> {
        let put = self.enter(record);
        if put.is_err() {
            self.has_one_less();
        }
        put
    }

    /// A socket has gone from this thread.
    pub(super) fn has_one_less(&self) {
        self.context.station.sockets.fetch_sub(1, Relaxed);
    }

    fn enter(&mut self, record: SocketRecord) -> std::io::Result<(u32, *const Actor)> {
        let sockets = &self.net.sockets;
        if sockets.len() >= Sockets::LIMIT {
            return Err(Error::from_raw_os_error(libc::ENFILE));
        }
        let behaviour = match record.kind {
            SocketKind::Listener => BehaviourId::LISTENER,
            _ => BehaviourId::SOCKET,
        };
        // Its number is never given again: a socket leads to no other sponsor's.
        let sponsor = self.context.sponsor.id;
        let pinned = self
            .context
            .machine
            .sponsors()
            .pin(|pinned| pinned.id == sponsor);
        if pinned.is_none() {
            return Err(ErrorKind::NotConnected.into());
        }
        let descriptor = record.socket.as_raw_fd();
        let (number, state) = sockets.add(record);
        let me = self.context.station.number;
        let header = Header::new(behaviour, pinned, me);
        let actor = self.turn.heap.insist(|heap| heap.actor(header, state));
        let added = match actor.is_none() {
            true => Err(ErrorKind::OutOfMemory.into()),
            false => sockets.poller.add(descriptor, number),
        };
        if let Err(error) = added {
            sockets.remove(number);
            return Err(error);
        }
        self.turn.counts.creates += 1;
        let actor = actor.address_pointer();
        sockets.with(number, |record| record.actor = actor);
        add(&sockets.counts.open, 1);
        self.context.machine.pool().pace.allocated(PACED);
        Ok((number, actor))
    }
}

impl Dispatch {
    /// Opens a socket for the outside, which gets a handle of it.
    pub(crate) fn open_socket(&mut self, opening: Opening) -> std::io::Result<Key> {
        let mut opened = Err(ErrorKind::NotConnected.into());
        self.serve_between(|service| {
            opened = match opening {
                Opening::Listener(plan) => service.listen(plan),
                Opening::Socket(socket, kind, terms, server) => service
                    .begin(socket, kind, terms, server)
                    .map(|(_, actor)| actor),
            };
        });
        let sponsor = Some(self.context.sponsor.id);
        let handles = self.context.machine.handles();
        opened.map(|actor| handles.acquire(actor, sponsor))
    }
}
