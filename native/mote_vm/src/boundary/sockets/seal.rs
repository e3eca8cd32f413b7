//! What seals the bytes of a connection, as TLS does: the embedder brings it. Nothing here waits.
//!
//! Invariants:
//! 1. What a seal reads from the wire and writes to it are sealed bytes, and nothing else touches them. An error of the wire that says
//!    that it would have to wait is passed on, and the call is made again later.
//! 2. Bytes that were to be sent count as sent when the system has taken all that they became. Until then they stay in the record's
//!    buffer, and the seal remembers how many of them it has sealed already.
//! 3. A seal is charged with what it keeps while nothing waits, as long as it lives.
use super::transfer::{send, ReadRoom};
use crate::base::quota::Quota;
use crate::platform::failure::would_wait;
pub use crate::platform::failure::SealError;
use socket2::Socket;
use std::io::{Read, Result, Write};
use std::net::IpAddr;
use std::sync::Arc;

/// The socket below a seal.
pub struct Wire<'s>(pub(super) &'s Socket);

impl Read for Wire<'_> {
    fn read(&mut self, room: &mut [u8]) -> Result<usize> {
        let mut socket = self.0;
        socket.read(room)
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        send(self.0, bytes)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The two ends of one connection have agreed on this.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Agreed {
    /// The version of the protocol.
    pub version: &'static str,
    /// The protocol above it, of those that both know.
    pub alpn: Option<Vec<u8>>,
    /// The name of the server that the peer has asked for.
    pub server_name: Option<String>,
    /// The certificate of the peer, in DER.
    pub certificate: Option<Vec<u8>>,
}

/// The seal of one connection, from its handshake to its end.
pub trait Seal: Send {
    /// Goes on with the handshake. `Ok`: it is over.
    fn shake(&mut self, wire: &mut Wire<'_>) -> Result<()>;
    /// Shows some bytes that have come, at most so many; none when the peer has said that it sends no more.
    fn receive(
        &mut self,
        wire: &mut Wire<'_>,
        most: usize,
        show: &mut dyn FnMut(&[u8]),
    ) -> Result<()>;
    /// Seals the first of these bytes, unless sealed bytes are still to go. Returns how many it has sealed.
    fn seal(&mut self, bytes: &[u8]) -> Result<usize>;
    /// Writes sealed bytes. `Ok`: none are left.
    fn flush(&mut self, wire: &mut Wire<'_>) -> Result<()>;
    /// Tells the peer that no more is sent, once, however often it is called.
    fn end(&mut self);
    /// Returns what the two ends have agreed on, once the handshake is over.
    fn agreed(&self) -> Agreed;
    /// About how many bytes it keeps.
    fn bytes(&self) -> usize;
}

/// Makes the seals of the connections of a listener, or of those that are being made.
pub trait SealMaker: Send + Sync {
    /// The seal of a new connection, to a server of that address if it is being made to one that has any.
    fn make(&self, server: Option<IpAddr>) -> Result<Box<dyn Seal>>;
}

/// A seal in its record.
pub(crate) struct Sealed {
    seal: Box<dyn Seal>,
    quota: Arc<Quota>,
    charged: usize,
    /// The first bytes of those to be sent that are sealed already (invariant 2).
    sealed: usize,
}

impl Sealed {
    pub(crate) fn new(seal: Box<dyn Seal>, quota: &Arc<Quota>) -> Sealed {
        let charged = seal.bytes();
        quota.take_anyway(charged);
        Sealed {
            seal,
            quota: quota.clone(),
            charged,
            sealed: 0,
        }
    }

    /// Goes on with the handshake. Returns whether it is over.
    pub(crate) fn shake(&mut self, socket: &Socket) -> Result<bool> {
        match self.seal.shake(&mut Wire(socket)) {
            Err(error) if would_wait(&error) => Ok(false),
            done => done.map(|()| true),
        }
    }

    /// Receives as [`Socket::recv`] does.
    pub(super) fn receive(&mut self, socket: &Socket, room: &mut ReadRoom) -> Result<usize> {
        let (most, mut shown) = (room.len(), 0);
        let mut show = |bytes: &[u8]| {
            room[shown..][..bytes.len()].write_copy_of_slice(bytes);
            shown += bytes.len();
        };
        self.seal.receive(&mut Wire(socket), most, &mut show)?;
        // What is read there is what was written there, whatever a seal says.
        Ok(shown)
    }

    /// Sends the first of these bytes. Returns how many have gone: the caller shows those that have not, again.
    pub(super) fn send(&mut self, socket: &Socket, bytes: &[u8]) -> Result<usize> {
        if self.sealed == 0 {
            self.seal.flush(&mut Wire(socket))?;
            self.sealed = self.seal.seal(bytes)?;
            if self.sealed == 0 {
                return Err(SealError("closed".into()).into());
            }
        }
        self.seal.flush(&mut Wire(socket))?;
        Ok(std::mem::take(&mut self.sealed))
    }

    /// Tells the peer that no more comes. `Ok`: the system has taken that.
    pub(crate) fn end(&mut self, socket: &Socket) -> Result<()> {
        self.seal.end();
        self.seal.flush(&mut Wire(socket))
    }

    pub(crate) fn agreed(&self) -> Agreed {
        self.seal.agreed()
    }
}

impl Drop for Sealed {
    fn drop(&mut self) {
        self.quota.give(self.charged);
    }
}
