//! The record of one socket: some words, and boxes while something waits.
use super::buffer::Buffer;
use super::reading::ReadSpec;
use super::seal::{SealMaker, Sealed};
use crate::base::ids::{ThreadNumber, TimerId};
use crate::values::actor::Actor;
use crate::values::handles::Key;
use crate::values::value::Value;
use socket2::Socket;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::Arc;

/// Bytes that wait to be written to a peer from which something is read.
const MOST_UNSENT: usize = 1 << 20;

/// Bytes that may wait to be written to one peer, unless its terms say otherwise.
pub(crate) const MAX_UNSENT: usize = 16 << 20;

/// The purpose of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SocketKind {
    Listener,
    /// Its connection is being made.
    Connecting,
    /// There is a connection, and its ends agree on how to seal it.
    Sealing,
    Connection,
    /// It has no connection, or one that the peer knows nothing of.
    Datagrams,
}

/// See the head of this file.
pub(crate) struct SocketRecord {
    pub(crate) socket: Socket,
    pub(crate) number: u32,
    pub(crate) actor: *const Actor,
    /// The collection that had begun last when it was made.
    pub(crate) born: u32,
    /// The walk of a collection that was told of what was here when it began (mod.rs).
    pub(crate) noted_in: u32,
    pub(crate) kind: SocketKind,
    /// There may be something to read, and room to write: both as far as is known.
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// A read that gets less than it might is not told of the rest: an end was told before, or there are urgent bytes, or files
    /// may come with bytes.
    pub(crate) stops_short: bool,
    /// The peer will send no more, and all that came was read.
    pub(crate) ended: bool,
    /// No more is to be sent when all bytes have gone: behind a seal, its end among them.
    pub(crate) ends: bool,
    /// It is in the list of those that have something to write.
    pub(crate) is_dirty: bool,
    /// The machine is not quiet before its bytes have gone.
    pub(crate) is_counted: bool,
    /// It is in the list of those to be looked at again.
    pub(crate) is_listed: bool,
    /// Nobody holds it any more, and its thread is to close it.
    pub(crate) is_doomed: Cell<bool>,
    /// The session that is to hear of it, while nothing was asked of it yet.
    pub(crate) session: Cell<*const Actor>,
    /// The serial number under which its thread looks whether the peer takes what waits for it, or 0 (threads/net/unsent.rs).
    pub(crate) unsent: u16,
    /// Number of reads so far: the timer of one that is over does nothing.
    pub(crate) reads: u32,
    /// The customer that waits for a read, or `NONE`.
    pub(crate) reader: Value,
    pub(crate) spec: ReadSpec,
    pub(crate) timer: Option<Box<TimerId>>,
    /// Bytes that were read beyond what was asked for.
    pub(crate) input: Option<Box<Buffer>>,
    pub(crate) output: Option<Box<Output>>,
    pub(crate) sealed: Option<Box<Sealed>>,
    /// What it has in common with the others of its listener or dialer.
    pub(crate) terms: Option<Arc<SocketTerms>>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
}

// SAFETY: actor and values are plain words here; dispatch threads and the collector alone look behind them.
unsafe impl Send for SocketRecord {}

const _: () = assert!(cfg!(loom) || size_of::<SocketRecord>() <= 128);

/// Bytes to be written, and who waits until they have gone.
#[derive(Default)]
pub(crate) struct Output {
    pub(crate) bytes: Buffer,
    /// The waiting customers, each with the number of bytes that have been written in all when its write is done.
    pub(crate) writers: VecDeque<(u64, Value)>,
    /// Bytes that were to be written in all.
    pub(crate) end: u64,
}

impl Output {
    /// The bytes that wait, and those that it takes to know who waits for them.
    fn size(&self) -> usize {
        self.bytes.rest().len() + size_of::<(u64, Value)>() * self.writers.len()
    }
}

/// The options of a socket, and of the connections of a listener or of a dialer.
#[derive(Clone)]
pub struct SocketOptions {
    /// Small writes go at once.
    pub nodelay: bool,
    /// Bytes that may wait to be written to each peer, unless it is the usual number.
    pub max_unsent: Option<usize>,
    /// Encrypts the connections.
    pub seals: Option<Arc<dyn SealMaker>>,
}

/// The settings that the sockets of one listener, or of one dialer, have in common.
pub(crate) struct SocketTerms {
    pub(crate) options: SocketOptions,
    /// The listener that has accepted them, or that this is.
    pub(crate) accepting: Option<Accepting>,
}

/// The settings by which a listener accepts connections.
pub(crate) struct Accepting {
    /// The actor that sessions are made like, which nobody sends to: the listener owns this reference.
    pub(crate) session: Key,
    pub(crate) thread: ThreadNumber,
    pub(crate) number: u32,
    /// Connections that are open, and the most of them.
    pub(crate) open: AtomicUsize,
    pub(crate) most: usize,
    /// No more are accepted until one of them is closed.
    pub(crate) is_full: AtomicBool,
}

impl SocketRecord {
    pub(crate) fn new(socket: Socket, kind: SocketKind, born: u64) -> SocketRecord {
        SocketRecord {
            socket,
            number: 0,
            actor: std::ptr::null(),
            born: born as u32,
            noted_in: 0,
            kind,
            readable: true,
            writable: true,
            stops_short: false,
            ended: false,
            ends: false,
            is_dirty: false,
            is_counted: false,
            is_listed: false,
            is_doomed: Cell::new(false),
            session: Cell::new(std::ptr::null()),
            unsent: 0,
            reads: 0,
            reader: Value::NONE,
            spec: ReadSpec::Some,
            timer: None,
            input: None,
            output: None,
            sealed: None,
            terms: None,
            bytes_in: 0,
            bytes_out: 0,
        }
    }

    /// Returns whether it keeps its actor alive (mod.rs, invariant 2).
    pub(crate) fn is_root(&self) -> bool {
        let begins = matches!(
            self.kind,
            SocketKind::Listener | SocketKind::Connecting | SocketKind::Sealing
        );
        begins || !self.reader.is_none() || self.output.is_some()
    }

    /// Returns whether a listener has accepted it.
    pub(crate) fn is_accepted(&self) -> bool {
        let terms = self.terms.as_ref();
        terms.is_some_and(|terms| terms.accepting.is_some())
    }

    /// Returns whether so much waits to be written that nothing is read before some of it has gone.
    pub(crate) fn is_behind(&self) -> bool {
        let output = self.output.as_ref();
        output.is_some_and(|output| output.bytes.rest().len() > MOST_UNSENT)
    }

    /// Returns how much waits to be written, if that is too much together with `more` bytes. A write that is alone may have any length.
    pub(crate) fn is_overloaded(&self, more: usize) -> Option<usize> {
        let waits = self.output.as_ref().map_or(0, |output| output.size());
        let terms = self.terms.as_ref();
        let most = terms.and_then(|terms| terms.options.max_unsent);
        let most = most.unwrap_or(MAX_UNSENT);
        (waits > 0 && waits.saturating_add(more) > most).then_some(waits)
    }

    /// Puts it into the list of those to be looked at again.
    pub(crate) fn list(&mut self, list: &mut Vec<u32>) {
        if !std::mem::replace(&mut self.is_listed, true) {
            list.push(self.number);
        }
    }

    /// Shows what it keeps alive.
    pub(crate) fn show(&self, mut show: impl FnMut(Value)) {
        if self.is_root() && !self.actor.is_null() {
            show(Value::address(self.actor));
        }
        self.each_waiting(show);
    }

    /// Shows everybody who waits for it.
    pub(crate) fn each_waiting(&self, mut show: impl FnMut(Value)) {
        if !self.reader.is_none() {
            show(self.reader);
        }
        if let Some(output) = &self.output {
            output.writers.iter().for_each(|(_, writer)| show(*writer));
        }
    }
}
