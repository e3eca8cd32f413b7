//! The event queue of the operating system (epoll, kqueue), in which a thread of an I/O sponsor waits instead of sleeping.
//!
//! Invariants:
//! 1. A wake-up that comes before the wait is not lost: the wait returns at once.
//! 2. Events come at edges: one is told when something has changed, and not again until it changes once more. So nothing that
//!    nobody reads keeps a thread awake. More may be told than there is; whoever is told tries and finds out.
//! 3. What a wait has found is there until it is taken, whatever the next wait finds. Whoever takes without having waited learns
//!    what has happened all the same: so a thread that had something else to do in place of waiting misses nothing.
//! 4. Only the thread that waits looks at what came. Everybody may wake it and add sockets.
use crate::base::sync::Mutex;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token, Waker};
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

/// Events that are taken at once; the others come with the next wait.
const AT_ONCE: usize = 512;
const WAKE: Token = Token(usize::MAX);

/// The operations that the socket of a number allows without waiting.
#[derive(Clone, Copy)]
pub(crate) struct Ready {
    pub(crate) number: u32,
    pub(crate) to_read: bool,
    pub(crate) to_write: bool,
    /// The peer will send no more, or has sent urgent bytes, at which a read stops short. Not all systems tell of these.
    pub(crate) stops_short: bool,
}

struct PollQueue {
    poll: Poll,
    events: Events,
    ready: Vec<Ready>,
    /// The poller has looked for events since they were last taken.
    has_looked: bool,
}

/// See the head of this file.
pub(crate) struct Poller {
    queue: Mutex<PollQueue>,
    registry: Registry,
    waker: Waker,
}

impl Poller {
    pub(crate) fn new() -> io::Result<Poller> {
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let waker = Waker::new(&registry, WAKE)?;
        Ok(Poller {
            queue: Mutex::new(PollQueue {
                poll,
                events: Events::with_capacity(AT_ONCE),
                ready: Vec::new(),
                has_looked: false,
            }),
            registry,
            waker,
        })
    }

    /// Waits until something has happened, somebody wakes the thread, or the time is over.
    pub(crate) fn wait(&self, at_most: Option<Duration>) {
        self.queue.lock().look(at_most);
    }

    /// Moves what was found to `to`.
    pub(crate) fn take(&self, to: &mut Vec<Ready>) {
        let mut queue = self.queue.lock();
        if !queue.has_looked {
            queue.look(Some(Duration::ZERO));
        }
        queue.has_looked = false;
        to.append(&mut queue.ready);
    }

    /// Wakes the thread.
    pub(crate) fn wake(&self) {
        // It fails only where the counter of wake-ups is full, and then the thread wakes anyway.
        let _ = self.waker.wake();
    }

    /// Tells from now on what may be done with a socket, under that number, until it is closed.
    pub(crate) fn add(&self, socket: RawFd, number: u32) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        #[cfg(target_os = "linux")]
        let interest = interest | Interest::PRIORITY;
        let token = Token(number as usize);
        self.registry
            .register(&mut SourceFd(&socket), token, interest)
    }
}

impl PollQueue {
    fn look(&mut self, at_most: Option<Duration>) {
        if self.poll.poll(&mut self.events, at_most).is_err() {
            // Interrupted by a signal: the thread looks around and comes back.
            return;
        }
        self.has_looked = true;
        let of_sockets = self.events.iter().filter(|event| event.token() != WAKE);
        self.ready.extend(of_sockets.map(|event| Ready {
            number: event.token().0 as u32,
            to_read: event.is_readable() || event.is_read_closed() || event.is_error(),
            stops_short: event.is_read_closed()
                || event.is_error()
                || event.is_priority()
                || !cfg!(target_os = "linux"),
            to_write: event.is_writable() || event.is_write_closed() || event.is_error(),
        }));
    }
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    /// The numbers of the sockets from which something may be read.
    fn taken(poller: &Poller) -> Vec<u32> {
        let mut ready = Vec::new();
        poller.take(&mut ready);
        let to_read = ready.iter().filter(|ready| ready.to_read);
        to_read.map(|ready| ready.number).collect()
    }

    /// Invariant 3.
    #[test]
    fn who_has_not_waited_misses_nothing() {
        let poller = Poller::new().expect("an event queue");
        let (ours, mut theirs) = UnixStream::pair().expect("two sockets");
        poller.add(ours.as_raw_fd(), 7).expect("room");
        assert!(taken(&poller).is_empty());
        theirs.write_all(b"a").expect("room");
        assert_eq!(taken(&poller), [7]);
        theirs.write_all(b"b").expect("room");
        poller.wait(None);
        theirs.write_all(b"c").expect("room");
        poller.wait(None);
        assert_eq!(taken(&poller), [7, 7]);
        assert!(taken(&poller).is_empty());
    }
}
