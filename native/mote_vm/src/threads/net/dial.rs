//! Dialers: actors that make connections for whoever holds them, to the places that they may.
//!
//! Its capture is `{allowed, terms}`. What is allowed is a list that the host has made: of paths, and of `{ip, bits, first, last}`,
//! addresses with the first bits of `ip`, 16 bytes, and ports between those two. An IPv4 address is the IPv6 address that stands for it.
//! The terms are those of all its connections.
//!
//! Invariants:
//! 1. A dialer belongs to no thread: a connection is made on the thread of the sponsor that has the request, which is that of whoever asks,
//!    if that is a session. It stays there.
//! 2. The address that is looked for in the list is the one that is connected to.
use super::words::words;
use super::Service;
use crate::base::atom::Atom;
use crate::boundary::sockets::place::SocketPlace;
use crate::boundary::sockets::reading::ReadSpec;
use crate::boundary::sockets::record::{SocketKind, SocketTerms};
use crate::platform::failure::{is_shortage, name};
use crate::values::foreign::{Class, Foreign};
use crate::values::value::Value;
use std::cmp::Ordering;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

/// The terms of a dialer's connections, as a value that it has captured.
pub(crate) struct DialerTerms(pub(crate) Arc<SocketTerms>);

impl Foreign for DialerTerms {
    fn class(&self) -> Class {
        Class::Reference
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        let of = |terms: &DialerTerms| Arc::as_ptr(&terms.0);
        let other = other.as_any().downcast_ref();
        Some(of(self)).cmp(&other.map(of))
    }
}

impl Service<'_> {
    /// Does what is asked of a dialer. Returns whether that was a request.
    pub(super) fn dial(&mut self, dialer: Value, message: Value) -> bool {
        let Some(&[customer, request]) = message.as_tuple() else {
            return false;
        };
        if let Err(reason) = self.begin_dial(dialer, customer, request) {
            self.refuse(customer, reason);
        }
        true
    }

    fn begin_dial(&mut self, dialer: Value, customer: Value, request: Value) -> Result<(), Atom> {
        let words = words();
        // That of an image has none.
        let (allowed, terms) = parts(dialer).ok_or(words.closed)?;
        let (place, timeout) = match request.as_tuple() {
            Some([word, place]) if word.as_atom() == Some(words.connect) => (*place, None),
            Some([word, place, ms]) if word.as_atom() == Some(words.connect) => {
                (*place, super::request::timeout(*ms)?)
            }
            _ => return Err(words.bad_request),
        };
        let place = place_of(place).ok_or(words.bad_request)?;
        if !is_allowed(allowed, &place) {
            return Err(words.eacces);
        }
        let socket = place.connect(terms.options.nodelay).map_err(|error| {
            if is_shortage(&error) {
                // Those that nobody holds any more may have some.
                self.context.machine.pool().short();
            }
            name(&error)
        })?;
        self.context.station.sockets.fetch_add(1, Relaxed);
        let begun = self.begin(socket, SocketKind::Connecting, terms, place.ip());
        let (number, _) = begun.map_err(|error| name(&error))?;
        self.begin_read(number, customer, ReadSpec::Socket, timeout)
    }

    /// Returns whether nobody can use it yet: its connection is being made for whoever asked a dialer, or its ends have to agree.
    pub(super) fn is_nobodys(&self, number: u32) -> Option<bool> {
        self.with(number, |record| {
            let is_dialed = matches!(record.spec, ReadSpec::Socket);
            is_dialed || record.kind == SocketKind::Sealing
        })
    }
}

/// What a dialer allows, and on which terms.
fn parts(dialer: Value) -> Option<(Value, Arc<SocketTerms>)> {
    let &[allowed, terms] = dialer.as_tuple()? else {
        return None;
    };
    let terms: &DialerTerms = terms.as_foreign()?.as_any().downcast_ref()?;
    Some((allowed, terms.0.clone()))
}

/// The place that a value means: `{ip, port}`, or a path.
fn place_of(value: Value) -> Option<SocketPlace> {
    if let Some(path) = value.as_binary() {
        let path = std::str::from_utf8(path).ok()?;
        return (!path.is_empty()).then(|| SocketPlace::Path(path.into()));
    }
    let (ip, port) = ip_and_port(value)?;
    Some(SocketPlace::Port(ip, port))
}

/// `{ip, port}`, with an IP address as a tuple.
pub(super) fn ip_and_port(value: Value) -> Option<(IpAddr, u16)> {
    let &[ip, port] = value.as_tuple()? else {
        return None;
    };
    let port = u16::try_from(port.as_fixnum()?).ok()?;
    let parts = ip.as_tuple()?.iter().map(|part| part.as_fixnum());
    let parts: Vec<i64> = parts.collect::<Option<_>>()?;
    let ip = match parts.len() {
        4 => IpAddr::from(whole::<u8, 4>(&parts)?),
        8 => IpAddr::from(whole::<u16, 8>(&parts)?),
        _ => return None,
    };
    Some((ip, port))
}

fn whole<T: TryFrom<i64> + Copy + Default, const N: usize>(parts: &[i64]) -> Option<[T; N]> {
    let mut all = [T::default(); N];
    for (to, part) in all.iter_mut().zip(parts) {
        *to = T::try_from(*part).ok()?;
    }
    Some(all)
}

fn is_allowed(allowed: Value, place: &SocketPlace) -> bool {
    let mut rest = allowed;
    while let Some((rule, next)) = rest.as_cons() {
        if allows(rule, place) {
            return true;
        }
        rest = next;
    }
    false
}

fn allows(rule: Value, place: &SocketPlace) -> bool {
    match (place, rule.as_tuple()) {
        (SocketPlace::Path(path), None) => rule.as_binary() == Some(path.as_bytes()),
        (SocketPlace::Port(ip, port), Some(&[of, bits, first, last])) => {
            let ip = match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => *ip,
            };
            let of = of.as_binary().and_then(|of| <[u8; 16]>::try_from(of).ok());
            let (Some(of), Some(bits)) = (of, bits.as_fixnum()) else {
                return false;
            };
            let differs = Ipv6Addr::from(of).to_bits() ^ ip.to_bits();
            let ports = first.as_fixnum().zip(last.as_fixnum());
            i64::from(differs.leading_zeros()) >= bits
                && ports.is_some_and(|(first, last)| (first..=last).contains(&i64::from(*port)))
        }
        _ => false,
    }
}
