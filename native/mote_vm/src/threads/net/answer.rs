//! Answers, and the values that they are made of. They were asked for, or bytes have come: nothing but the system can refuse
//! them memory.
use super::words::{word, words};
use super::Service;
use crate::base::atom::Atom;
use crate::boundary::sockets::record::SocketKind;
use crate::boundary::sockets::seal::Agreed;
use crate::heap::Heap;
use crate::terms::map::from_entries;
use crate::threads::thread::Dispatch;
use crate::turns::queue::Event;
use crate::values::value::Value;
use socket2::SockAddr;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering::Relaxed;

impl Dispatch {
    /// Shows the messages that those who wait for its sockets get in a machine that goes on from an image.
    pub(crate) fn each_told_closed(&self, heap: &mut Heap, mut show: impl FnMut(Event)) {
        let Some(net) = &self.net else {
            return;
        };
        let closed = [Atom::ERROR, words().closed].map(Value::atom);
        net.sockets.each_waiting(|_, waiting| {
            if waiting.is_address() {
                let target = waiting.address_pointer();
                let message = heap.tuple(2, |at| closed[at]);
                show(Event { target, message });
            }
        });
    }
}

impl Service<'_> {
    /// Sends an answer. A customer that is an atom wants none.
    pub(super) fn answer(&mut self, customer: Value, answer: Value) {
        if answer.is_none() {
            self.turn.counts.aborts_no_memory += 1;
        } else if !customer.is_none() && customer.as_atom().is_none() {
            self.turn.send(customer, answer);
        }
    }

    /// Answers `:ok`.
    pub(super) fn agree(&mut self, customer: Value) {
        self.answer(customer, Value::atom(Atom::OK));
    }

    /// Answers `{:error, reason}`.
    pub(super) fn refuse(&mut self, customer: Value, reason: Atom) {
        let answer = self.tuple([Value::atom(Atom::ERROR), Value::atom(reason)]);
        self.answer(customer, answer);
    }

    /// Answers `{:ok, value}`.
    pub(super) fn give(&mut self, customer: Value, value: Value) {
        self.answer_with(customer, Atom::OK, value);
    }

    /// Answers `{word, value}`.
    pub(super) fn answer_with(&mut self, customer: Value, word: Atom, value: Value) {
        let answer = match value.is_none() {
            true => value,
            false => self.tuple([Value::atom(word), value]),
        };
        self.answer(customer, answer);
    }

    pub(super) fn tuple<const N: usize>(&mut self, elements: [Value; N]) -> Value {
        self.turn
            .heap
            .insist(|heap| heap.tuple(N, |at| elements[at]))
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Value {
        self.turn.heap.insist(|heap| heap.bytes(bytes))
    }

    pub(super) fn number(n: u64) -> Value {
        Value::fixnum(n as i64)
    }

    pub(super) fn map(&mut self, entries: &[(&str, Value)]) -> Value {
        let pair = |(name, value): &(&str, Value)| (Value::atom(word(name)), *value);
        let entries = entries.iter().map(pair).collect();
        self.turn.heap.insist(|heap| from_entries(heap, entries))
    }

    /// Makes the answer of what the ends of a sealed connection have agreed on; `nil` where there is no such thing.
    pub(super) fn agreed(&mut self, agreed: &Agreed) -> Value {
        let mut or_nil = |bytes: Option<&[u8]>| bytes.map_or(Value::NIL, |bytes| self.bytes(bytes));
        let entries = [
            ("version", Value::atom(word(agreed.version))),
            ("alpn", or_nil(agreed.alpn.as_deref())),
            (
                "server_name",
                or_nil(agreed.server_name.as_ref().map(|name| name.as_bytes())),
            ),
            ("certificate", or_nil(agreed.certificate.as_deref())),
        ];
        match entries.iter().any(|(_, value)| value.is_none()) {
            true => Value::NONE,
            false => self.map(&entries),
        }
    }

    /// What has come and gone, or how many connections a listener has.
    pub(super) fn counters(&mut self, number: u32) -> Option<Value> {
        let (kind, bytes_in, bytes_out, terms) = self.with(number, |record| {
            let terms = record.terms.clone();
            (record.kind, record.bytes_in, record.bytes_out, terms)
        })?;
        let of = terms.as_ref().and_then(|terms| terms.accepting.as_ref());
        let counted = match (kind, of) {
            (SocketKind::Listener, Some(of)) => {
                let open = Self::number(of.open.load(Relaxed) as u64);
                self.map(&[("connections", open)])
            }
            _ => self.map(&[
                ("bytes_in", Self::number(bytes_in)),
                ("bytes_out", Self::number(bytes_out)),
            ]),
        };
        Some(counted)
    }

    /// Addresses and counters in one map.
    pub(super) fn info(&mut self, number: u32) -> Option<Value> {
        let (local, peer) = self.with(number, |record| {
            (record.socket.local_addr(), record.socket.peer_addr())
        })?;
        let [local, peer] = [local, peer].map(|address| match address {
            Ok(address) => self.address(&address),
            // A listener has no peer.
            Err(_) => Value::NIL,
        });
        let counters = self.counters(number)?;
        let entries = [("local", local), ("peer", peer), ("counters", counters)];
        let any_none = entries.iter().any(|(_, value)| value.is_none());
        Some(match any_none {
            true => Value::NONE,
            false => self.map(&entries),
        })
    }

    /// An address as `:inet` has it: `{ip, port}`, or `{:local, path}`.
    pub(super) fn address(&mut self, address: &SockAddr) -> Value {
        match address.as_socket() {
            Some(address) => {
                let ip = self.ip(address);
                self.tuple([ip, Value::fixnum(address.port().into())])
            }
            None => {
                use std::os::unix::ffi::OsStrExt;
                let path = address.as_pathname();
                let path = path.map_or(&[][..], |path| path.as_os_str().as_bytes());
                let path = self.bytes(path);
                self.tuple([Value::atom(words().local), path])
            }
        }
    }

    fn ip(&mut self, address: SocketAddr) -> Value {
        match address.ip() {
            IpAddr::V4(ip) => self.tuple(ip.octets().map(|part| Value::fixnum(part.into()))),
            IpAddr::V6(ip) => self.tuple(ip.segments().map(|part| Value::fixnum(part.into()))),
        }
    }
}
