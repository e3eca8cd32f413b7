//! Datagrams between a socket and its record. Nothing here waits.
//!
//! Invariants:
//! 1. What is to be written lies in the record's buffer, each datagram behind the address that it is for; the ends of the writers say
//!    where each ends.
//! 2. A datagram is written as a whole, or not at all: its writer learns which. It never keeps those behind it.
use super::record::{Output, SocketRecord};
use super::transfer::{end_output, ReadRoom};
use crate::base::quota::Quota;
use crate::platform::failure::would_wait;
use crate::values::value::Value;
use socket2::SockAddr;
use std::io::{Error, ErrorKind};
use std::net::{IpAddr, SocketAddr};

/// Bytes of an address in front of a datagram: the version of IP (0 if it goes to the only peer), the IP address, the port.
pub(crate) const HEAD: usize = 19;

/// Returns the header in front of a datagram.
pub(crate) fn head(to: Option<SocketAddr>) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    if let Some(to) = to {
        match to.ip() {
            IpAddr::V4(ip) => {
                head[0] = 4;
                head[1..5].copy_from_slice(&ip.octets());
            }
            IpAddr::V6(ip) => {
                head[0] = 6;
                head[1..17].copy_from_slice(&ip.octets());
            }
        }
        head[17..].copy_from_slice(&to.port().to_be_bytes());
    }
    head
}

/// The address of which that is the head.
fn address(head: &[u8; HEAD]) -> Option<SockAddr> {
    let mut ip = [0; 16];
    ip.copy_from_slice(&head[1..17]);
    let ip = match head[0] {
        0 => return None,
        4 => IpAddr::from([ip[0], ip[1], ip[2], ip[3]]),
        _ => IpAddr::from(ip),
    };
    let port = u16::from_be_bytes([head[17], head[18]]);
    Some(SocketAddr::new(ip, port).into())
}

/// Reads the next datagram into `room`, which has room for any: its length, and whose it is. None if there is none.
pub(crate) fn receive(
    record: &mut SocketRecord,
    room: &mut ReadRoom,
) -> Option<Result<(usize, SockAddr), Error>> {
    while record.readable {
        match record.socket.recv_from(room) {
            Ok((n, from)) => {
                record.bytes_in += n as u64;
                return Some(Ok((n, from)));
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if would_wait(&error) => record.readable = false,
            Err(error) => return Some(Err(error)),
        }
    }
    None
}

/// Writes the datagrams that wait, of at most `visit` bytes. Each writer is shown, and why the system did not take its datagram.
/// Returns whether none is left.
pub(crate) fn write(
    record: &mut SocketRecord,
    visit: usize,
    quota: &Quota,
    mut show: impl FnMut(Value, Option<Error>),
) -> bool {
    let Some(output) = &mut record.output else {
        return true;
    };
    let Output {
        bytes,
        writers,
        end,
    } = &mut **output;
    let mut left = visit as i64;
    while record.writable && left > 0 {
        let Some(&(until, writer)) = writers.front() else {
            break;
        };
        let gone = *end - bytes.rest().len() as u64;
        let all = (until - gone) as usize;
        let Some((head, datagram)) = bytes.rest()[..all].split_first_chunk::<HEAD>() else {
            break;
        };
        let sent = match address(head) {
            Some(to) => record.socket.send_to(datagram, &to),
            None => record.socket.send(datagram),
        };
        let failed = match sent {
            Ok(n) => {
                record.bytes_out += n as u64;
                None
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if would_wait(&error) => {
                record.writable = false;
                continue;
            }
            Err(error) => Some(error),
        };
        left -= all as i64;
        bytes.take(all);
        writers.pop_front();
        show(writer, failed);
    }
    let is_over = writers.is_empty();
    if is_over {
        end_output(record, quota);
    }
    is_over
}
