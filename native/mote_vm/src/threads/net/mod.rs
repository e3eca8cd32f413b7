//! Sockets as actors, on the threads of an I/O sponsor.
//!
//! Such a thread waits in the system's event queue (platform/poller.rs) in place of the futex, and runs turns as any other. A
//! socket is an actor of a behaviour whose code is here: a message to it is a request with a customer. So a turn of any other
//! behaviour pays nothing for sockets, as what runs one answers in the place of native code (code/entry.rs).
//!
//! Invariants:
//! 1. A socket belongs to one thread from beginning to end, and so does the session that it was accepted for, unless that moves by
//!    itself: both are pinned, and threads of I/O sponsors neither share work nor take actors over from each other.
//! 2. Nobody stands in for a thread that has sockets: what it knows of its events is its own.
//! 3. A request does everything that it does at once, and its turn is never run twice: it is not aborted, and has no fuel.
//! 4. What is to be written is gathered until the end of the batch, and then written in one piece for each socket.
//! 5. Between two batches the thread looks what has happened, also while it has turns to run. Without turns it waits for that.
mod accept;
mod answer;
mod datagrams;
mod dial;
mod open;
pub(crate) mod own;
mod progress;
mod request;
mod unsent;
mod words;

use crate::boundary::sockets::record::SocketRecord;
use crate::threads::thread::Dispatch;
use crate::threads::thread_context::ThreadContext;
use crate::turns::turn::Turn;
pub(crate) use accept::ListenerPlan;
pub(crate) use dial::DialerTerms;
pub(crate) use open::Opening;
use own::Net;

/// A thread's sockets together with what answers are made with.
struct Service<'a> {
    net: &'a mut Net,
    context: &'a ThreadContext,
    turn: &'a mut Turn,
}

impl Service<'_> {
    /// Applies `act` to a record.
    fn with<R>(&self, number: u32, act: impl FnOnce(&mut SocketRecord) -> R) -> Option<R> {
        self.net.sockets.with(number, act)
    }

    /// Notes that there was no memory for something: a collection may find some.
    fn lacked_memory(&mut self) {
        self.turn.counts.refused_no_memory += 1;
        self.context.machine.pool().short();
    }
}

impl Dispatch {
    /// Applies `act` to the sockets of this thread, if it has any.
    fn serve<R>(&mut self, act: impl FnOnce(&mut Service<'_>) -> R) -> Option<R> {
        let mut net = self.net.take()?;
        let answer = act(&mut Service {
            net: &mut net,
            context: &self.context,
            turn: &mut self.turn,
        });
        self.net = Some(net);
        Some(answer)
    }

    /// Does so between two turns, and sends what was answered.
    fn serve_between(&mut self, act: impl FnOnce(&mut Service<'_>)) {
        let before = self.turn.queue.position();
        self.serve(act);
        self.turn.counts.sends += self.turn.queue.pushed_since(&before) as u64;
        self.turn.count_staged();
        self.turn.tidy_up();
        if !self.turn.at_commit.outgoing.is_empty() {
            self.commit_outgoing();
        }
    }

    /// Sees to what has happened at the sockets. A thread that sleeps has waited for it; one that is busy looks.
    #[inline]
    pub(crate) fn look_at_sockets(&mut self) {
        if let Some(net) = &mut self.net {
            net.sockets.poller.take(&mut net.ready);
            self.serve_between(|service| {
                service.collected();
                service.happened();
                service.come_again();
                service.look_at_unsent();
            });
        }
    }

    /// Writes what the turns of a batch have left to be written.
    #[inline]
    pub(crate) fn flush_sockets(&mut self) {
        if self.net.as_ref().is_some_and(|net| !net.dirty.is_empty()) {
            self.serve_between(|service| {
                for number in std::mem::take(&mut service.net.dirty) {
                    service.with(number, |record| record.is_dirty = false);
                    service.flush(number);
                }
            });
        }
    }

    /// Returns whether it must look at a socket again before it sleeps.
    pub(crate) fn has_more_at_sockets(&self) -> bool {
        self.net
            .as_ref()
            .is_some_and(|net| !net.more.is_empty() || net.sockets.has_dead())
    }

    /// Closes all sockets: the sponsor is removed. Whoever waits is answered.
    pub(crate) fn close_sockets(&mut self) {
        self.serve_between(|service| {
            for number in service.net.sockets.numbers() {
                service.flush(number);
                service.close(number, words::words().closed);
            }
        });
        self.net = None;
    }

    /// The thread ends, and nobody waits any more.
    pub(crate) fn drop_sockets(&mut self) {
        if let Some(net) = self.net.take() {
            let sockets = &net.sockets;
            sockets
                .numbers()
                .into_iter()
                .for_each(|number| drop(sockets.remove(number)));
        }
    }
}
