//! Listeners: connections are accepted, and each gets a session.
//!
//! Invariants:
//! 1. A listener accepts until the system has no more: events come at edges. It stops before that only where something brings it
//!    back: its place in `more`, a connection that is closed while it is full, or a timer while there are no files.
//! 2. A connection goes to the thread of the sponsor that has the fewest sockets, and stays there, as its session does.
use super::own::Net;
use super::words::words;
use super::Service;
use crate::base::ids::TimerId;
use crate::boundary::sockets::counts::add;
use crate::boundary::sockets::record::{
    Accepting, SocketKind, SocketOptions, SocketRecord, SocketTerms,
};
use crate::platform::failure::{is_shortage, would_wait};
use crate::threads::inbox::Entry;
use crate::threads::thread::{task, Dispatch};
use crate::turns::queue::Event;
use crate::values::actor::{Actor, Header};
use crate::values::handles::Key;
use crate::values::value::Value;
use socket2::Socket;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;

/// Connections that are accepted before anything else is looked at.
const AT_ONCE: usize = 64;
/// Milliseconds for which nothing is accepted when the system has no files left.
const PAUSE: u64 = 100;

/// A listener to be.
pub(crate) struct ListenerPlan {
    pub(crate) socket: Socket,
    /// The actor that sessions are to be made like.
    pub(crate) session: Key,
    pub(crate) most: usize,
    pub(crate) options: SocketOptions,
}

impl Accepting {
    /// Returns whether one more connection may be open. Only the listener's thread adds any. If not, the next that is closed calls.
    fn has_room(&self) -> bool {
        // SeqCst, all, and in `has_left`: whoever takes one off after this has looked finds the flag.
        while self.open.load(SeqCst) >= self.most {
            self.is_full.store(true, SeqCst);
            if self.open.load(SeqCst) >= self.most {
                return false;
            }
            self.is_full.store(false, SeqCst);
        }
        true
    }
}

impl Service<'_> {
    /// A listener begins.
    pub(super) fn listen(&mut self, plan: ListenerPlan) -> std::io::Result<*const Actor> {
        let record = self.record(plan.socket, SocketKind::Listener);
        let (number, actor) = self.put(record)?;
        let accepting = Accepting {
            session: plan.session,
            thread: self.context.station.number,
            number,
            open: AtomicUsize::new(0),
            most: plan.most,
            is_full: AtomicBool::new(false),
        };
        let terms = SocketTerms {
            options: plan.options,
            accepting: Some(accepting),
        };
        self.with(number, |record| record.terms = Some(Arc::new(terms)));
        Ok(actor)
    }

    /// Accepts what there is, up to a limit, if that is a listener.
    pub(super) fn accept(&mut self, number: u32) {
        for _ in 0..AT_ONCE {
            let accepted = self.with(number, |record| {
                let is_listener = record.kind == SocketKind::Listener;
                let terms = record.terms.clone().filter(|_| is_listener)?;
                // It pauses, or is full.
                let may = record.timer.is_none() && terms.accepting.as_ref()?.has_room();
                may.then(|| (accept_next(&record.socket), terms))
            });
            let Some(Some((accepted, terms))) = accepted else {
                return;
            };
            match accepted {
                Ok(socket) => {
                    if let Some(of) = &terms.accepting {
                        of.open.fetch_add(1, SeqCst);
                    }
                    add(&self.net.sockets.counts.accepted, 1);
                    self.place(socket, terms);
                }
                Err(error) if would_wait(&error) => return,
                // The peer has gone again.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    if is_shortage(&error) {
                        // Those that nobody holds any more may have some.
                        self.context.machine.pool().short();
                    }
                    return self.pause(number);
                }
            }
        }
        let Net { sockets, more, .. } = &mut *self.net;
        sockets.with(number, |record| record.list(more));
    }

    /// Accepts nothing for a while. What has come waits in the system's line.
    fn pause(&mut self, number: u32) {
        add(&self.net.sockets.counts.accept_paused, 1);
        let Some(actor) = self.with(number, |record| record.actor) else {
            return;
        };
        let id = self.arm(actor, Value::fixnum(0), PAUSE);
        self.with(number, |record| record.timer = Some(Box::new(id)));
    }

    /// Arms a timer whose message is a number, which no request is.
    pub(super) fn arm(&mut self, actor: *const Actor, message: Value, ms: u64) -> TimerId {
        let station = &self.context.station;
        let due = self.context.machine.clock().after(ms);
        self.turn.timer_serial += 1;
        let serial = self.turn.timer_serial << 1;
        let target = Value::address(actor);
        TimerId {
            serial,
            thread: station.number,
            place: station.timers.arm(due, serial, target, message),
        }
    }

    /// A listener that was full, or has paused, goes on.
    pub(super) fn accept_again(&mut self, of: &Accepting) {
        let number = of.number;
        let again = task(move |thread| {
            // Should the number be another listener's by now, that looks what there is.
            thread.serve_between(|service| service.accept(number));
        });
        let station = self.context.station_of(of.thread);
        // Its sponsor may be removed meanwhile: then the thread that takes the task has no such listener.
        self.context.machine.push(&station, Entry::Task(again));
    }

    /// Gives a connection to a thread.
    fn place(&mut self, socket: Socket, terms: Arc<SocketTerms>) {
        let station = self.context.sponsor.place_socket();
        if station.number == self.context.station.number {
            return self.adopt(socket, terms);
        }
        let adopt = task(move |thread| {
            // Without sockets it was to be the first sponsor's, in place of one that is removed: the connection is closed.
            thread.serve_between(|service| service.adopt(socket, terms));
        });
        self.context.machine.push(station, Entry::Task(adopt));
    }

    /// A connection begins here: its session hears of it, when that is sealed if it is to be.
    fn adopt(&mut self, socket: Socket, terms: Arc<SocketTerms>) {
        if terms.options.nodelay {
            // Sockets of the file system know no such thing.
            let _ = socket.set_tcp_nodelay(true);
        }
        match self.begin(socket, SocketKind::Sealing, terms.clone(), None) {
            Ok((number, _)) => self.shake(number),
            Err(_) => {
                add(&self.net.sockets.counts.errors, 1);
                self.has_left(&terms);
            }
        }
    }

    /// A connection that was accepted can be used: its session hears of it.
    pub(super) fn tell_session(&mut self, number: u32, of: &Accepting) {
        let found = self.with(number, |record| (record.actor, record.timer.take()));
        let Some((actor, timer)) = found else {
            return;
        };
        if let Some(timer) = timer {
            self.context.machine.cancel_timer(*timer);
        }
        match self.begin_session(of, actor) {
            Some(session) => {
                self.with(number, |record| record.session.set(session));
            }
            None => self.close(number, words().closed),
        }
    }

    /// Makes a session as the listener's pattern says, and tells it of the connection.
    fn begin_session(&mut self, of: &Accepting, socket: *const Actor) -> Option<*const Actor> {
        let pattern = self.context.machine.hold(of.session)?;
        // SAFETY: held. It was never sent to, so nobody changes it.
        let pattern = unsafe { &*pattern.actor };
        let program = self.turn.around.program.clone();
        let behaviour = pattern.header().behaviour();
        let name = program.name(behaviour);
        let newest = program.find((name.module, name.name, name.parts() as u32));
        let behaviour = newest.map_or(behaviour, |(newest, _)| newest);
        let (sponsor, me) = (self.context.sponsor.id, self.context.station.number);
        let header = Header::new(behaviour, Some(sponsor), me);
        let state = pattern.state();
        let session = self.turn.heap.insist(|heap| heap.actor(header, state));
        let hello = self.tuple([Value::atom(words().connected), Value::address(socket)]);
        if session.is_none() || hello.is_none() {
            return None;
        }
        self.turn.counts.creates += 1;
        let session = session.address_pointer();
        self.turn.queue.push(session, hello);
        Some(session)
    }
}

/// The next connection that waits, as a socket that never does.
fn accept_next(listener: &Socket) -> std::io::Result<Socket> {
    let (socket, _peer) = listener.accept()?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

impl Dispatch {
    /// The turn of an event has left nothing behind. If it was that of the session that was to hear of its connection, and nothing was
    /// asked of that before, nobody has it: it is closed at once.
    #[cold]
    pub(crate) fn hello_was_lost(&mut self, event: Event) {
        let Some(&[word, socket]) = event.message.as_tuple() else {
            return;
        };
        if word.as_atom() != Some(words().connected) || !socket.is_address() {
            return;
        }
        // SAFETY: the message of an event is live.
        let actor = unsafe { &*socket.address_pointer() };
        if actor.header().behaviour().is_socket() {
            self.serve_between(|service| {
                let number = service.net.sockets.find(actor, actor.state());
                let is_its_session =
                    |record: &mut SocketRecord| std::ptr::eq(record.session.get(), event.target);
                if let Some(number) = number {
                    if service.with(number, is_its_session) == Some(true) {
                        service.close(number, words().closed);
                    }
                }
            });
        }
    }
}
