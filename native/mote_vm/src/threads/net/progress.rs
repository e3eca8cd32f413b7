//! Reads and writes that go on: what was asked for comes, the time is over, the peer is gone.
use super::own::Net;
use super::words::words;
use super::Service;
use crate::base::atom::Atom;
use crate::boundary::sockets::counts::{add, less};
use crate::boundary::sockets::datagrams;
use crate::boundary::sockets::reading::ReadSpec;
use crate::boundary::sockets::record::{SocketKind, SocketRecord, SocketTerms};
use crate::boundary::sockets::transfer::{self, ReadStep, VISIT};
use crate::platform::failure::{is_fatal, name};
use crate::values::value::Value;
use std::io::Error;
use std::net::Shutdown;
use std::sync::atomic::Ordering::SeqCst;

/// Milliseconds in which a peer is to agree on how its connection is sealed, and what their timer says in place of a read's number.
const HANDSHAKE: u64 = 30_000;
const OF_SHAKE: i64 = -1;

impl Service<'_> {
    /// Sees to what has happened at the sockets.
    pub(super) fn happened(&mut self) {
        let mut ready = std::mem::take(&mut self.net.ready);
        for ready in ready.drain(..) {
            let kind = self.with(ready.number, |record| {
                record.readable |= ready.to_read;
                record.stops_short |= ready.stops_short;
                record.writable |= ready.to_write;
                record.kind
            });
            match kind {
                Some(SocketKind::Connecting) if ready.to_write => self.connected(ready.number),
                _ => self.go_on(ready.number, kind),
            }
        }
        self.net.ready = ready;
    }

    /// Goes on where there was more to do than was done at once.
    pub(super) fn come_again(&mut self) {
        for number in std::mem::take(&mut self.net.more) {
            let kind = self.with(number, |record| {
                record.is_listed = false;
                record.kind
            });
            self.go_on(number, kind);
        }
    }

    fn go_on(&mut self, number: u32, kind: Option<SocketKind>) {
        match kind {
            Some(SocketKind::Listener) => self.accept(number),
            Some(SocketKind::Connection) => {
                self.read_on(number);
                self.flush(number);
            }
            Some(SocketKind::Datagrams) => {
                self.receive_on(number);
                self.flush(number);
            }
            Some(SocketKind::Sealing) => self.shake(number),
            Some(SocketKind::Connecting) | None => {}
        }
    }

    /// A connection is made, or is not.
    fn connected(&mut self, number: u32) {
        let outcome = self.with(number, |record| record.socket.take_error());
        match outcome {
            Some(Ok(None)) => {
                self.with(number, |record| record.kind = SocketKind::Sealing);
                self.shake(number);
            }
            Some(Ok(Some(error)) | Err(error)) => self.is_none(number, &error),
            None => {}
        }
    }

    /// There is a connection: if it is to be sealed, its ends agree first.
    pub(super) fn shake(&mut self, number: u32) {
        let shaken = self.with(number, |record| match &mut record.sealed {
            Some(sealed) => sealed.shake(&record.socket),
            None => Ok(true),
        });
        match shaken {
            Some(Ok(true)) => self.begins(number),
            Some(Err(error)) => self.is_none(number, &error),
            Some(Ok(false)) => self.limit_shake(number),
            None => {}
        }
    }

    /// Both ends have to agree in time: the peer may say nothing, and whoever has asked for the connection may be gone, or wait for longer.
    fn limit_shake(&mut self, number: u32) {
        let timer = |record: &mut SocketRecord| (record.timer.take(), record.actor);
        if let Some((timer, actor)) = self.with(number, timer) {
            let left = timer.and_then(|timer| self.context.machine.cancel_timer(*timer));
            let ms = left.unwrap_or(HANDSHAKE).min(HANDSHAKE);
            let id = self.arm(actor, Value::fixnum(OF_SHAKE), ms);
            self.with(number, |record| record.timer = Some(Box::new(id)));
        }
    }

    /// A connection can be used.
    fn begins(&mut self, number: u32) {
        let terms = self.with(number, |record| {
            record.kind = SocketKind::Connection;
            record.terms.clone()
        });
        match terms
            .flatten()
            .as_ref()
            .and_then(|terms| terms.accepting.as_ref())
        {
            Some(of) => self.tell_session(number, of),
            None => {
                add(&self.net.sockets.counts.connected, 1);
                self.read_on(number);
                self.flush(number);
            }
        }
    }

    /// Ends a connection that could not be made. Nobody has heard of one that was to be accepted.
    fn is_none(&mut self, number: u32, error: &Error) {
        add(&self.net.sockets.counts.errors, 1);
        let is_over = |record: &mut SocketRecord| {
            record.kind = SocketKind::Connection;
            if record.is_accepted() || !record.reader.is_none() || record.output.is_some() {
                return true;
            }
            record.spec = ReadSpec::Failed(name(error));
            false
        };
        if self.with(number, is_over) == Some(true) {
            self.close(number, name(error));
        }
    }

    /// Begins to read for a customer: answers at once, or when it has come.
    pub(super) fn begin_read(
        &mut self,
        number: u32,
        customer: Value,
        spec: ReadSpec,
        timeout: Option<u64>,
    ) -> Result<(), Atom> {
        let words = words();
        let is_datagram = matches!(spec, ReadSpec::Datagram(_));
        let begun = self.with(number, |record| {
            if !record.reader.is_none() {
                return false;
            }
            record.reads = record.reads.wrapping_add(1);
            (record.reader, record.spec) = (customer, spec);
            true
        });
        match begun {
            None => return Err(words.closed),
            Some(false) => return Err(words.busy),
            Some(true) if is_datagram => self.receive_on(number),
            Some(true) => self.read_on(number),
        }
        let waits = self.with(number, |record| {
            (!record.reader.is_none()).then_some((record.reads, record.actor))
        });
        if let (Some(ms), Some(Some((reads, actor)))) = (timeout, waits) {
            let id = self.arm(actor, Value::fixnum(reads.into()), ms);
            self.with(number, |record| record.timer = Some(Box::new(id)));
        }
        Ok(())
    }

    /// The time of the read of that number is over, if it still waits, or that of [`OF_SHAKE`]; or a listener has paused for long
    /// enough.
    pub(super) fn is_late(&mut self, number: u32, read: i64) {
        let waits = self.with(number, |record| {
            let is_it = match read {
                OF_SHAKE => record.kind == SocketKind::Sealing,
                read => i64::from(record.reads) == read,
            };
            (is_it && record.timer.take().is_some(), record.kind)
        });
        if let Some((true, SocketKind::Listener)) = waits {
            self.accept(number);
        } else if let (Some((true, _)), Some(true)) = (waits, self.is_nobodys(number)) {
            self.close(number, Atom::TIMEOUT);
        } else if let Some((true, _)) = waits {
            if let Some(customer) = self.end_read(number) {
                self.refuse(customer, Atom::TIMEOUT);
            }
        }
    }

    /// The read is over. Returns whom it was for.
    pub(super) fn end_read(&mut self, number: u32) -> Option<Value> {
        let (customer, timer) = self.with(number, |record| {
            record.spec = ReadSpec::Some;
            let reader = std::mem::replace(&mut record.reader, Value::NONE);
            (reader, record.timer.take())
        })?;
        if let Some(timer) = timer {
            self.context.machine.cancel_timer(*timer);
        }
        Some(customer)
    }

    /// Reads on for whoever waits, and answers if that is enough.
    pub(super) fn read_on(&mut self, number: u32) {
        let Service { net, turn, .. } = self;
        let Net {
            sockets,
            scratch,
            more,
            ..
        } = &mut **net;
        let step = sockets.with(number, |record| {
            let is_to_be = matches!(record.kind, SocketKind::Connecting | SocketKind::Sealing);
            if record.reader.is_none() || is_to_be {
                return None;
            }
            match record.spec {
                ReadSpec::Connection => return Some((ReadStep::Connected, Value::NONE)),
                ReadSpec::Socket => {
                    return Some((ReadStep::Connected, Value::address(record.actor)))
                }
                _ => {}
            }
            if record.is_behind() {
                return None;
            }
            let before = record.bytes_in;
            let step = transfer::read(record, scratch, VISIT, &sockets.quota);
            add(&sockets.counts.bytes_in, record.bytes_in - before);
            let value = match step {
                ReadStep::Waits => return None,
                ReadStep::GoesOn => {
                    record.list(more);
                    return None;
                }
                ReadStep::Came(n) => {
                    // SAFETY: the system has written the first `n` bytes.
                    let came = unsafe { &*(&raw const scratch[..n] as *const [u8]) };
                    turn.heap.insist(|heap| heap.bytes(came))
                }
                ReadStep::Kept { taken, skip } => {
                    let kept = record.input.as_ref().map_or(&[][..], |input| input.rest());
                    let value = turn.heap.insist(|heap| heap.bytes(&kept[skip..taken]));
                    transfer::consume(record, taken, &sockets.quota);
                    value
                }
                _ => Value::NONE,
            };
            Some((step, value))
        });
        let Some(Some((step, value))) = step else {
            return;
        };
        let Some(customer) = self.end_read(number) else {
            return;
        };
        match step {
            ReadStep::Connected if value.is_none() => self.agree(customer),
            ReadStep::Came(_) | ReadStep::Kept { .. } | ReadStep::Connected => {
                self.give(customer, value);
            }
            ReadStep::Waits | ReadStep::GoesOn => {}
            ReadStep::Ended => self.refuse(customer, words().closed),
            ReadStep::TooLong => self.refuse(customer, words().too_long),
            ReadStep::NoMemory => {
                self.lacked_memory();
                self.refuse(customer, Atom::NO_MEMORY);
            }
            ReadStep::Failed(error) => {
                self.refuse(customer, name(&error));
                self.failed(number, &error);
            }
        }
    }

    /// Writes what waits, and answers those whose bytes have gone. Whoever reads goes on if that had to wait for it.
    pub(super) fn flush(&mut self, number: u32) {
        let Net {
            sockets,
            written,
            more,
            ..
        } = &mut *self.net;
        let mut refused = Vec::new();
        let done = sockets.with(number, |record| {
            record.output.as_ref()?;
            let was_behind = record.is_behind();
            let before = record.bytes_out;
            let done = match record.kind {
                SocketKind::Connection => {
                    let show = |writer| written.push(writer);
                    transfer::write(record, VISIT, &sockets.quota, show)
                }
                SocketKind::Datagrams => {
                    let show = |writer, failed: Option<Error>| match failed {
                        None => written.push(writer),
                        Some(error) => refused.push((writer, name(&error))),
                    };
                    Ok(datagrams::write(record, VISIT, &sockets.quota, show))
                }
                SocketKind::Listener | SocketKind::Connecting | SocketKind::Sealing => return None,
            };
            add(&sockets.counts.bytes_out, record.bytes_out - before);
            let is_over = !matches!(done, Ok(false));
            if is_over && record.ends {
                // The peer may be gone: then there is nothing to end.
                let _ = record.socket.shutdown(Shutdown::Write);
            }
            if !is_over && record.writable {
                record.list(more);
            }
            let counted = std::mem::replace(&mut record.is_counted, !is_over);
            Some((
                done,
                usize::from(counted),
                usize::from(!is_over),
                was_behind,
            ))
        });
        let mut written = std::mem::take(&mut self.net.written);
        for writer in written.drain(..) {
            self.agree(writer);
        }
        self.net.written = written;
        for (writer, reason) in refused {
            add(&self.net.sockets.counts.errors, 1);
            self.refuse(writer, reason);
        }
        let Some(Some((done, counted, counts, was_behind))) = done else {
            return;
        };
        self.count(counted, counts);
        if counts > 0 {
            self.has_unsent(number);
        }
        if let Err(error) = done {
            let reason = name(&error);
            let writers = self.with(number, |record| {
                record.ends = true;
                transfer::end_output(record, &self.net.sockets.quota)
            });
            for writer in writers.unwrap_or_default() {
                self.refuse(writer, reason);
            }
            self.failed(number, &error);
        }
        if was_behind {
            self.read_on(number);
        }
    }

    /// Counts waiting bytes as outstanding, or no longer: they keep the machine from being quiet.
    fn count(&self, counted: usize, counts: usize) {
        let quiescence = self.context.machine.quiescence();
        match (counted, counts) {
            (0, 1) => quiescence.add(1),
            (1, 0) => quiescence.done(1),
            _ => {}
        }
    }

    /// Handles a failure: a connection of which nothing can come any more is closed.
    fn failed(&mut self, number: u32, error: &Error) {
        add(&self.net.sockets.counts.errors, 1);
        if is_fatal(error) {
            self.close(number, name(error));
        }
    }

    /// Closes some of the sockets that nobody holds any more.
    pub(super) fn collected(&mut self) {
        for number in self.net.sockets.take_dead() {
            add(&self.net.sockets.counts.collected, 1);
            self.close(number, words().closed);
        }
    }

    /// Closes a socket. Whoever waits learns the reason.
    pub(super) fn close(&mut self, number: u32, reason: Atom) {
        let Some(mut record) = self.net.sockets.remove(number) else {
            return;
        };
        let sockets = &self.net.sockets;
        let counts = &sockets.counts;
        add(&counts.closed, 1);
        less(&counts.open);
        self.has_one_less();
        self.count(usize::from(record.is_counted), 0);
        if let Some(timer) = record.timer.take() {
            self.context.machine.cancel_timer(*timer);
        }
        if let Some(sealed) = &mut record.sealed {
            // The peer may be gone, or have no room: it then sees the connection end.
            let _ = sealed.end(&record.socket);
        }
        transfer::end_input(&mut record, &sockets.quota);
        let writers = transfer::end_output(&mut record, &sockets.quota);
        let reader = Some(record.reader).filter(|reader| !reader.is_none());
        let SocketRecord {
            terms,
            kind,
            socket,
            ..
        } = record;
        drop(socket);
        if let Some(terms) = terms {
            match (&terms.accepting, kind) {
                (Some(of), SocketKind::Listener) => self.context.machine.release(of.session),
                _ => self.has_left(&terms),
            }
        }
        for waiting in reader.into_iter().chain(writers) {
            self.refuse(waiting, reason);
        }
    }

    /// A connection on these terms is closed: its listener may accept another.
    pub(super) fn has_left(&mut self, terms: &SocketTerms) {
        let Some(of) = &terms.accepting else {
            return;
        };
        // SeqCst, both: see `has_room`.
        of.open.fetch_sub(1, SeqCst);
        if of.is_full.swap(false, SeqCst) {
            self.accept_again(of);
        }
    }
}
