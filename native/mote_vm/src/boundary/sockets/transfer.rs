//! Bytes between a socket and its record. Nothing here waits.
//!
//! Invariants:
//! 1. What the system has given is answered or kept: a read that ends otherwise loses no byte.
//! 2. A socket counts as readable, or writable, until the system has said that it is not: its events come at edges
//!    (platform/poller.rs).
//! 3. Bytes are written in the order of the requests, as many at once as there are, up to the limit of a visit.
//! 4. A visit to a socket moves a limited number of bytes: whoever has more to do comes again, after all others.
use super::buffer::Buffer;
use super::reading::{ReadMatch, CHUNK};
use super::record::{Output, SocketRecord};
use crate::base::quota::Quota;
use crate::platform::failure::would_wait;
use crate::values::value::Value;
use std::io::{Error, ErrorKind};
use std::mem::MaybeUninit;

/// Room that one thread reads into.
pub(crate) type ReadRoom = [MaybeUninit<u8>];

/// The most bytes that one visit reads or writes.
pub(crate) const VISIT: usize = 1 << 20;

/// The progress of a read.
pub(crate) enum ReadStep {
    Waits,
    /// There may be more, for another visit.
    GoesOn,
    /// The answer is this many bytes of the scratch room.
    Came(usize),
    /// The answer is in the record's buffer: `taken` bytes, but for the first `skip`.
    Kept {
        taken: usize,
        skip: usize,
    },
    /// There is a connection.
    Connected,
    Ended,
    TooLong,
    NoMemory,
    Failed(Error),
}

/// Reads until what the record's read asks for is there, nothing more has come, or `visit` bytes were read.
pub(crate) fn read(
    record: &mut SocketRecord,
    scratch: &mut ReadRoom,
    visit: usize,
    quota: &Quota,
) -> ReadStep {
    let mut left = visit;
    loop {
        let kept = record.input.as_ref().map_or(&[][..], |input| input.rest());
        let most = match record.spec.find(kept) {
            ReadMatch::Answer { taken, skip } => return ReadStep::Kept { taken, skip },
            ReadMatch::TooLong => return ReadStep::TooLong,
            ReadMatch::More(most) => most.min(CHUNK).min(left),
        };
        if record.ended {
            return ReadStep::Ended;
        }
        if !record.readable {
            return ReadStep::Waits;
        }
        if left == 0 {
            return ReadStep::GoesOn;
        }
        if !quota.has(most) {
            return ReadStep::NoMemory;
        }
        let n = match receive(record, &mut scratch[..most]) {
            Ok(0) => {
                record.ended = true;
                continue;
            }
            Ok(n) => n,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if would_wait(&error) => {
                record.readable = false;
                continue;
            }
            Err(error) => return ReadStep::Failed(error),
        };
        record.bytes_in += n as u64;
        left -= n;
        // Less than there was room for: the next bytes come with an event of their own.
        record.readable = n == most || record.stops_short;
        // SAFETY: the system has written the first `n` bytes.
        let came = unsafe { &*(&raw const scratch[..n] as *const [u8]) };
        if record.input.is_none() {
            if let ReadMatch::Answer { taken, skip: 0 } = record.spec.find(came) {
                if taken == n {
                    return ReadStep::Came(n);
                }
            }
        }
        keep(record, came, quota);
    }
}

fn receive(record: &mut SocketRecord, room: &mut ReadRoom) -> Result<usize, Error> {
    match &mut record.sealed {
        Some(sealed) => sealed.receive(&record.socket, room),
        None => record.socket.recv(room),
    }
}

/// Keeps bytes for later.
fn keep(record: &mut SocketRecord, bytes: &[u8], quota: &Quota) {
    record.input.get_or_insert_default().push(bytes, quota);
}

/// Takes bytes off the front of a record's buffer, which goes when it is empty.
pub(crate) fn consume(record: &mut SocketRecord, n: usize, quota: &Quota) {
    if record.input.as_mut().is_some_and(|input| input.take(n)) {
        end(record.input.take(), quota);
    }
}

fn end(buffer: Option<Box<Buffer>>, quota: &Quota) {
    if let Some(buffer) = buffer {
        buffer.end(quota);
    }
}

/// Adds bytes to be written. `false` if there is no memory for them.
pub(crate) fn write_later(
    record: &mut SocketRecord,
    (customer, length): (Value, usize),
    fill: impl FnOnce(&mut Buffer),
    quota: &Quota,
) -> bool {
    let output = record.output.get_or_insert_default();
    if !output.bytes.reserve(length, quota) {
        if output.writers.is_empty() && output.bytes.rest().is_empty() {
            end_output(record, quota);
        }
        return false;
    }
    fill(&mut output.bytes);
    output.end += length as u64;
    output.writers.push_back((output.end, customer));
    true
}

/// Writes what waits, at most `visit` bytes of it, and then the end of a seal if no more is to come. Those whose bytes have gone are
/// shown. Returns whether nothing is left.
pub(crate) fn write(
    record: &mut SocketRecord,
    visit: usize,
    quota: &Quota,
    mut show: impl FnMut(Value),
) -> Result<bool, Error> {
    let Some(output) = &mut record.output else {
        return Ok(true);
    };
    let (socket, sealed) = (&record.socket, &mut record.sealed);
    let Output {
        bytes,
        writers,
        end,
    } = &mut **output;
    let (mut left, mut failed) = (visit, None);
    while record.writable && left > 0 && failed.is_none() && !bytes.rest().is_empty() {
        let rest = bytes.rest();
        let next = &rest[..rest.len().min(left)];
        let sent = match sealed {
            Some(sealed) => sealed.send(socket, next),
            None => send(socket, next),
        };
        match sent {
            Ok(n) => {
                record.bytes_out += n as u64;
                // Of what was sealed in a visit before there may be more.
                left = left.saturating_sub(n);
                bytes.take(n);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if would_wait(&error) => record.writable = false,
            Err(error) => failed = Some(error),
        }
    }
    let gone = *end - bytes.rest().len() as u64;
    while let Some((_, writer)) = writers.pop_front_if(|(end, _)| *end <= gone) {
        show(writer);
    }
    if let Some(error) = failed {
        return Err(error);
    }
    let mut is_over = bytes.rest().is_empty();
    if let (true, true, Some(sealed)) = (is_over, record.ends, sealed) {
        // Without it the peer could not tell the end from one that was cut off. Where the peer has gone there is nothing to end.
        if sealed.end(socket).is_err_and(|error| would_wait(&error)) {
            (record.writable, is_over) = (false, false);
        }
    }
    if is_over {
        end_output(record, quota);
    }
    Ok(is_over)
}

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
pub(super) fn send(socket: &socket2::Socket, bytes: &[u8]) -> std::io::Result<usize> {
    // A peer that has gone is an error, and not a signal to the process.
    socket.send_with_flags(bytes, libc::MSG_NOSIGNAL)
}

#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
pub(super) fn send(socket: &socket2::Socket, bytes: &[u8]) -> std::io::Result<usize> {
    // The socket itself asks for no signal: socket2 sees to that where there is no such flag.
    socket.send(bytes)
}

/// Gives up what waits to be written. Returns who waits for it.
pub(crate) fn end_output(record: &mut SocketRecord, quota: &Quota) -> Vec<Value> {
    let Some(output) = record.output.take() else {
        return Vec::new();
    };
    output.bytes.end(quota);
    output
        .writers
        .into_iter()
        .map(|(_, writer)| writer)
        .collect()
}

/// Gives up what was read beyond what was asked for.
pub(crate) fn end_input(record: &mut SocketRecord, quota: &Quota) {
    end(record.input.take(), quota);
}
