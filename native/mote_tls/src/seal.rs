//! The seal of one connection.
//!
//! Invariants:
//! 1. rustls keeps no more of what came than one read of the wire gave, and nothing is read before that was taken.
//! 2. Sealed bytes go before more are made: so it keeps no more than what became of [`MOST`] bytes.
use crate::failure::named;
use mote_vm::machine::net::seal::{Agreed, Seal, SealError, SealMaker, Wire};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection, ProtocolVersion};
use rustls::{ServerConfig, ServerConnection};
use std::io::{BufRead, Error, ErrorKind, Result, Write};
use std::net::IpAddr;
use std::sync::Arc;

/// Bytes that are sealed at once.
const MOST: usize = 64 << 10;

/// Bytes that a connection keeps while nothing waits: measured, see bench/RESULTS.md.
const KEPT: usize = 8 << 10;

/// A listener's side.
pub(crate) struct ServerTls(pub(crate) Arc<ServerConfig>);

impl SealMaker for ServerTls {
    fn make(&self, _server: Option<IpAddr>) -> Result<Box<dyn Seal>> {
        let connection = ServerConnection::new(self.0.clone());
        Ok(begun(connection.map_err(|e| named(&e))?.into()))
    }
}

/// The side of whoever connects, to a server of that name, or else of its address.
pub(crate) struct ClientTls(
    pub(crate) Arc<ClientConfig>,
    pub(crate) Option<ServerName<'static>>,
);

impl SealMaker for ClientTls {
    fn make(&self, server: Option<IpAddr>) -> Result<Box<dyn Seal>> {
        let address = || server.map(|ip| ServerName::from(ip.to_canonical()));
        let name = self.1.clone().or_else(address);
        let name = name.ok_or_else(|| SealError("hostname_check_failed".into()))?;
        let connection = ClientConnection::new(self.0.clone(), name);
        Ok(begun(connection.map_err(|e| named(&e))?.into()))
    }
}

struct Tls(Connection);

fn begun(mut connection: Connection) -> Box<dyn Seal> {
    connection.set_buffer_limit(Some(MOST));
    Box::new(Tls(connection))
}

impl Tls {
    /// Takes in what has come. Whatever is to be said about it is said, if there is room for it: it goes before anything else.
    fn take_in(&mut self, wire: &mut Wire<'_>) -> Result<()> {
        let came = match self.0.read_tls(wire) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            came => came?,
        };
        let processed = self.0.process_new_packets();
        match self.flush(wire) {
            Err(error) if error.kind() != ErrorKind::WouldBlock && processed.is_ok() => {
                return Err(error);
            }
            _ => {}
        }
        processed.map_err(|error| named(&error))?;
        match came == 0 && self.0.is_handshaking() {
            true => Err(reset()),
            false => Ok(()),
        }
    }
}

impl Seal for Tls {
    fn shake(&mut self, wire: &mut Wire<'_>) -> Result<()> {
        loop {
            self.flush(wire)?;
            if !self.0.is_handshaking() {
                return Ok(());
            }
            self.take_in(wire)?;
        }
    }

    fn receive(
        &mut self,
        wire: &mut Wire<'_>,
        most: usize,
        show: &mut dyn FnMut(&[u8]),
    ) -> Result<()> {
        loop {
            let mut reader = self.0.reader();
            match reader.fill_buf() {
                Ok(bytes) => {
                    let n = bytes.len().min(most);
                    show(&bytes[..n]);
                    reader.consume(n);
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // It has not said that this is the end: somebody may have cut it off.
                Err(_) => return Err(reset()),
            }
            self.take_in(wire)?;
        }
    }

    fn seal(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.writer().write(bytes)
    }

    fn flush(&mut self, wire: &mut Wire<'_>) -> Result<()> {
        while self.0.wants_write() {
            match self.0.write_tls(wire) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn end(&mut self) {
        self.0.send_close_notify();
    }

    fn agreed(&self) -> Agreed {
        let version = match self.0.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => "tlsv1.3",
            _ => "tlsv1.2",
        };
        let server_name = match &self.0 {
            Connection::Server(server) => server.server_name().map(str::to_string),
            Connection::Client(_) => None,
        };
        let chain = self.0.peer_certificates().unwrap_or_default();
        Agreed {
            version,
            alpn: self.0.alpn_protocol().map(<[u8]>::to_vec),
            server_name,
            certificate: chain.first().map(|certificate| certificate.to_vec()),
        }
    }

    fn bytes(&self) -> usize {
        KEPT
    }
}

fn reset() -> Error {
    SealError("reset".into()).into()
}
