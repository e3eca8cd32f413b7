//! Requests to sockets: `{customer, request}`.
use super::dial::ip_and_port;
use super::words::words;
use super::Service;
use crate::base::atom::Atom;
use crate::boundary::sockets::buffer::Buffer;
use crate::boundary::sockets::counts::add;
use crate::boundary::sockets::datagrams::{head, HEAD};
use crate::boundary::sockets::reading::{ReadSpec, ReadUntil};
use crate::boundary::sockets::record::SocketKind;
use crate::boundary::sockets::transfer;
use crate::code::program::{BehaviourCode, Program};
use crate::threads::run_turn::Verdict;
use crate::threads::thread::Dispatch;
use crate::turns::queue::Event;
use crate::values::actor::BehaviourId;
use crate::values::value::Value;
use std::net::Shutdown;

/// The most bytes that one request may ask for or write, and the most parts of an iolist.
const MOST: usize = 64 << 20;
const MOST_PARTS: usize = 1 << 20;

impl Dispatch {
    /// Runs the turn of a socket, which has begun. It ends well, whatever it was asked for.
    #[cold]
    #[inline(never)]
    pub(crate) fn turn_of_socket(
        &mut self,
        event: Event,
        see: impl FnOnce(&Dispatch, &BehaviourCode, &Verdict),
    ) -> u64 {
        // SAFETY: targets of queued events are live actors.
        let actor = unsafe { &*event.target };
        let program: *const Program = &*self.turn.around.program;
        // SAFETY: the turn holds the program, and outlives this.
        let code = unsafe { (*program).behaviour(actor.header().behaviour()) };
        self.running = Some((code, event.message));
        let heard = self.serve(|service| match actor.header().behaviour() {
            BehaviourId::DIALER => service.dial(actor.state(), event.message),
            _ => {
                let number = service.net.sockets.find(event.target, actor.state());
                service.request(number, event.message)
            }
        });
        let heard = heard.unwrap_or_else(|| self.told_closed(event.message));
        self.running = None;
        self.turn.counts.turns += 1;
        self.turn.counts.ignored += u64::from(!heard);
        see(self, code, &Verdict::Commits);
        self.turn.commit();
        self.turn.count_staged();
        if !self.turn.at_commit.outgoing.is_empty() {
            self.commit_outgoing();
        }
        self.turn.actor = std::ptr::null();
        1 + self.turn.tidy_up()
    }

    /// A thread without sockets has a request to one whose sponsor was removed. Returns whether it is a request.
    fn told_closed(&mut self, message: Value) -> bool {
        let Some([customer, request]) = message.as_tuple() else {
            return false;
        };
        if customer.as_atom().is_none() {
            let closed = [Atom::ERROR, words().closed].map(Value::atom);
            let answer = match request.as_atom() == Some(words().close) {
                true => Value::atom(Atom::OK),
                false => self.turn.heap.insist(|heap| heap.tuple(2, |at| closed[at])),
            };
            if !answer.is_none() {
                self.turn.send(*customer, answer);
            }
        }
        true
    }
}

impl Service<'_> {
    /// Does what is asked of a socket, or of one that is closed. Returns whether that was a request.
    fn request(&mut self, number: Option<u32>, message: Value) -> bool {
        if let (Some(number), Some(n)) = (number, message.as_fixnum()) {
            self.is_late(number, n);
            return true;
        }
        let Some(&[customer, request]) = message.as_tuple() else {
            return false;
        };
        let words = words();
        let Some(number) = number else {
            match request.as_atom() == Some(words.close) {
                true => self.agree(customer),
                false => self.refuse(customer, words.closed),
            }
            return true;
        };
        let failed = self.with(number, |record| {
            record.session.set(std::ptr::null());
            match record.spec {
                ReadSpec::Failed(reason) => Some(reason),
                _ => None,
            }
        });
        if let Some(Some(reason)) = failed {
            self.close(number, reason);
            self.refuse(customer, reason);
            return true;
        }
        let done = match (request.as_atom(), request.as_tuple()) {
            (Some(word), _) => self.word(number, customer, word),
            (_, Some([what, rest @ ..])) => match what.as_atom() {
                Some(word) => self.asked(number, customer, word, rest),
                None => Err(words.bad_request),
            },
            _ => Err(words.bad_request),
        };
        if let Err(reason) = done {
            self.refuse(customer, reason);
        }
        true
    }

    /// A request that is one word.
    fn word(&mut self, number: u32, customer: Value, word: Atom) -> Result<(), Atom> {
        let words = words();
        if word == words.close {
            self.flush(number);
            self.close(number, words.closed);
            self.agree(customer);
        } else if word == words.local || word == words.peer {
            let address = self.with(number, |record| match word == words.local {
                true => record.socket.local_addr(),
                false => record.socket.peer_addr(),
            });
            let address = address.ok_or(words.closed)?;
            let address = address.map_err(|error| crate::platform::failure::name(&error))?;
            let address = self.address(&address);
            self.give(customer, address);
        } else if word == words.counters {
            let counters = self.counters(number).unwrap_or(Value::NONE);
            self.answer(customer, counters);
        } else if word == words.info {
            let info = self.info(number).unwrap_or(Value::NONE);
            self.give(customer, info);
        } else if word == words.tls {
            let agreed = self.with(number, |record| {
                let sealed = record.sealed.as_ref();
                sealed.map(|sealed| sealed.agreed())
            });
            let agreed = agreed.flatten().ok_or(words.bad_request)?;
            let agreed = self.agreed(&agreed);
            self.give(customer, agreed);
        } else if word == words.connection {
            return self.begin_read(number, customer, ReadSpec::Connection, None);
        } else {
            return Err(words.bad_request);
        }
        Ok(())
    }

    /// A request with arguments: listeners have none.
    fn asked(
        &mut self,
        number: u32,
        customer: Value,
        word: Atom,
        rest: &[Value],
    ) -> Result<(), Atom> {
        let words = words();
        let kind = self.with(number, |record| record.kind);
        if kind == Some(SocketKind::Listener) {
            return Err(words.bad_request);
        }
        let is_datagrams = kind == Some(SocketKind::Datagrams);
        match rest {
            [what] | [what, _] if word == words.read => {
                let spec = match read_spec(*what) {
                    Some(ReadSpec::Exact(max)) if is_datagrams => ReadSpec::Datagram(max),
                    Some(spec) if !is_datagrams => spec,
                    _ => return Err(words.bad_request),
                };
                let ms = rest.get(1).map_or(Ok(None), |ms| timeout(*ms))?;
                self.begin_read(number, customer, spec, ms)
            }
            [data] if word == words.write => {
                let head = is_datagrams.then(|| head(None));
                let begun = self.begin_write(number, customer, head, *data);
                if let (Err(reason), Some(_), None) = (begun, customer.as_atom(), head) {
                    self.write_was_lost(number, reason);
                }
                begun
            }
            [to, data] if word == words.write_to && is_datagrams => {
                let to = ip_and_port(*to).ok_or(words.bad_request)?;
                let head = head(Some(to.into()));
                self.begin_write(number, customer, Some(head), *data)
            }
            [how] if word == words.shutdown && !is_datagrams => {
                let how = shutdown(how.as_atom()).ok_or(words.bad_request)?;
                self.shut(number, how)?;
                self.agree(customer);
                Ok(())
            }
            [options] if word == words.set => {
                self.set(number, *options)?;
                self.agree(customer);
                Ok(())
            }
            _ => Err(words.bad_request),
        }
    }

    /// Puts bytes in line, as a datagram if it has a head.
    fn begin_write(
        &mut self,
        number: u32,
        customer: Value,
        head: Option<[u8; HEAD]>,
        data: Value,
    ) -> Result<(), Atom> {
        let words = words();
        let head = head.as_ref().map_or(&[][..], |head| head);
        let length = head.len() + iodata(data, |_| ())?;
        self.make_room(number, length)?;
        let sockets = &self.net.sockets;
        let accepted = sockets.with(number, |record| {
            if record.ends {
                return Err(words.closed);
            }
            let fill = |buffer: &mut Buffer| {
                buffer.add(head);
                // Its length is known: it is iodata.
                let _ = iodata(data, |bytes| buffer.add(bytes));
            };
            match transfer::write_later(record, (customer, length), fill, &sockets.quota) {
                true => Ok(!std::mem::replace(&mut record.is_dirty, true)),
                false => Err(Atom::NO_MEMORY),
            }
        });
        match accepted.unwrap_or(Err(words.closed)) {
            Ok(true) => self.net.dirty.push(number),
            Ok(false) => {}
            Err(reason) => {
                if reason == Atom::NO_MEMORY {
                    self.lacked_memory();
                }
                return Err(reason);
            }
        }
        Ok(())
    }

    /// Refuses a write that is too much with what waits already, once the system takes no more of that.
    fn make_room(&mut self, number: u32, length: usize) -> Result<(), Atom> {
        let mut waited = usize::MAX;
        loop {
            let waits = self.with(number, |record| record.is_overloaded(length));
            match waits.flatten() {
                None => return Ok(()),
                Some(waits) if waits >= waited => return Err(words().overloaded),
                Some(waits) => waited = waits,
            }
            self.flush(number);
        }
    }

    /// Nobody hears that a write was refused, so its bytes would be missing amidst the others: the connection ends before it.
    fn write_was_lost(&mut self, number: u32, reason: Atom) {
        if reason != words().closed {
            self.flush(number);
            add(&self.net.sockets.counts.errors, 1);
            self.close(number, reason);
        }
    }

    /// Ends one direction, or both. What is to be written goes first.
    fn shut(&mut self, number: u32, how: Shutdown) -> Result<(), Atom> {
        let shut = self.with(number, |record| {
            let writes = how != Shutdown::Read;
            record.ends |= writes;
            let is_sealed = record.sealed.is_some();
            if writes && is_sealed {
                // The end of the seal waits to be written, as all bytes do.
                record.output.get_or_insert_default();
            }
            let now = match (how, record.output.is_some()) {
                (Shutdown::Write, true) => return Ok(()),
                (Shutdown::Both, true) => Shutdown::Read,
                (how, _) => how,
            };
            // Not by the peer, but by its own will it reads no more: that is no end that was cut off.
            record.ended |= is_sealed;
            record.socket.shutdown(now)
        });
        self.flush(number);
        let shut = shut.unwrap_or(Ok(()));
        shut.map_err(|error| crate::platform::failure::name(&error))
    }

    /// Sets options: a list of pairs of a name and a boolean.
    fn set(&mut self, number: u32, options: Value) -> Result<(), Atom> {
        let words = words();
        let mut rest = options;
        while let Some((option, next)) = rest.as_cons() {
            let Some(&[name, on]) = option.as_tuple() else {
                return Err(words.bad_request);
            };
            let on = match on {
                Value::TRUE => true,
                Value::FALSE => false,
                _ => return Err(words.bad_request),
            };
            let name = name.as_atom();
            let done = self.with(number, |record| {
                if name == Some(words.nodelay) {
                    record.socket.set_tcp_nodelay(on).map_err(Some)
                } else if name == Some(words.keepalive) {
                    record.socket.set_keepalive(on).map_err(Some)
                } else {
                    Err(None)
                }
            });
            done.unwrap_or(Ok(())).map_err(|error| {
                error.map_or(words.bad_request, |e| crate::platform::failure::name(&e))
            })?;
            rest = next;
        }
        match rest == Value::EMPTY_LIST {
            true => Ok(()),
            false => Err(words.bad_request),
        }
    }
}

/// The milliseconds of a timeout, if there is one.
pub(super) fn timeout(ms: Value) -> Result<Option<u64>, Atom> {
    if ms.as_atom() == Some(Atom::new("infinity")) {
        return Ok(None);
    }
    let ms = ms.as_fixnum().and_then(|ms| u64::try_from(ms).ok());
    ms.map(Some).ok_or(words().bad_request)
}

fn shutdown(how: Option<Atom>) -> Option<Shutdown> {
    let words = words();
    let how = how?;
    [
        (words.read, Shutdown::Read),
        (words.write, Shutdown::Write),
        (words.both, Shutdown::Both),
    ]
    .into_iter()
    .find_map(|(word, shutdown)| (word == how).then_some(shutdown))
}

/// Parses the request of a read.
fn read_spec(what: Value) -> Option<ReadSpec> {
    let words = words();
    let length = |value: Value| {
        let n = value.as_fixnum().and_then(|n| u32::try_from(n).ok());
        n.filter(|n| *n as usize <= MOST)
    };
    // Of nothing at all there is no end to be found.
    let limit = |value: Value| length(value).filter(|n| *n > 0);
    if let Some(n) = length(what) {
        return Some(ReadSpec::Exact(n));
    }
    if what.as_atom() == Some(words.some) {
        return Some(ReadSpec::Some);
    }
    match *what.as_tuple()? {
        [kind, max] if kind.as_atom() == Some(words.line) => {
            let max = limit(max)?;
            Some(ReadSpec::Line { max, seen: 0 })
        }
        [kind, width, max] if kind.as_atom() == Some(words.packet) => {
            let width = width
                .as_fixnum()
                .filter(|width| matches!(width, 1 | 2 | 4))?;
            let max = length(max)?;
            Some(ReadSpec::Packet {
                width: width as u8,
                max,
            })
        }
        [kind, pattern, max] if kind.as_atom() == Some(words.until) => {
            let bytes = pattern.as_binary().filter(|bytes| !bytes.is_empty())?;
            let max = limit(max)?;
            Some(ReadSpec::Until(Box::new(ReadUntil {
                bytes: bytes.to_vec(),
                max,
                seen: 0,
            })))
        }
        _ => None,
    }
}

/// Shows the bytes of iodata in their order. Returns how many there are.
fn iodata(data: Value, mut show: impl FnMut(&[u8])) -> Result<usize, Atom> {
    let words = words();
    let (mut length, mut parts) = (0, 0);
    let mut rest = vec![data];
    while let Some(part) = rest.pop() {
        parts += 1;
        if let Some((head, tail)) = part.as_cons() {
            if let Some(byte) = head.as_fixnum() {
                let byte = u8::try_from(byte).map_err(|_| words.bad_request)?;
                show(&[byte]);
                length += 1;
                rest.push(tail);
            } else {
                rest.extend([tail, head]);
            }
        } else if let Some(bytes) = part.as_binary() {
            show(bytes);
            length += bytes.len();
        } else if part != Value::EMPTY_LIST {
            return Err(words.bad_request);
        }
        if length > MOST || parts > MOST_PARTS {
            return Err(words.too_long);
        }
    }
    Ok(length)
}
