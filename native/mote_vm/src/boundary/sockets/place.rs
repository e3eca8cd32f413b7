//! Sockets that begin at a place, before they are anybody's. Nothing here waits.
use crate::platform::failure::is_begun;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// The place that a socket is bound or connected to.
#[derive(Clone, Debug)]
pub enum SocketPlace {
    /// A port of an address.
    Port(IpAddr, u16),
    /// A path in the file system.
    Path(String),
}

impl SocketPlace {
    /// Its IP address.
    pub(crate) fn ip(&self) -> Option<IpAddr> {
        match self {
            SocketPlace::Port(ip, _) => Some(*ip),
            SocketPlace::Path(_) => None,
        }
    }

    fn address(&self) -> io::Result<SockAddr> {
        match self {
            SocketPlace::Port(ip, port) => Ok(SocketAddr::new(*ip, *port).into()),
            SocketPlace::Path(path) => SockAddr::unix(path),
        }
    }

    /// A socket for that address, which never waits.
    fn socket(&self, address: &SockAddr, kind: Type) -> io::Result<Socket> {
        let protocol = match self {
            SocketPlace::Port(..) if kind == Type::DGRAM => Some(Protocol::UDP),
            SocketPlace::Port(..) => Some(Protocol::TCP),
            SocketPlace::Path(_) => None,
        };
        let socket = Socket::new(address.domain(), kind, protocol)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }

    /// A socket that is bound there, to both versions of IP if to all addresses of the newer one.
    fn bind(&self, kind: Type) -> io::Result<Socket> {
        let address = self.address()?;
        let socket = self.socket(&address, kind)?;
        if matches!(self, SocketPlace::Port(..)) && kind == Type::STREAM {
            // As every server does: else a port stays taken for a while after its last connection.
            socket.set_reuse_address(true)?;
        }
        if address.domain() == Domain::IPV6 {
            socket.set_only_v6(false)?;
        }
        socket.bind(&address)?;
        Ok(socket)
    }

    /// A socket to which so many may connect before they are accepted.
    pub(crate) fn listen(&self, backlog: i32) -> io::Result<Socket> {
        let socket = self.bind(Type::STREAM)?;
        socket.listen(backlog)?;
        Ok(socket)
    }

    /// A socket for datagrams, of all peers or of that one.
    pub(crate) fn datagrams(&self, peer: Option<&SocketPlace>) -> io::Result<Socket> {
        let socket = self.bind(Type::DGRAM)?;
        if let Some(peer) = peer {
            socket.connect(&peer.address()?)?;
        }
        Ok(socket)
    }

    /// A socket whose connection to there has begun.
    pub(crate) fn connect(&self, nodelay: bool) -> io::Result<Socket> {
        let address = self.address()?;
        let socket = self.socket(&address, Type::STREAM)?;
        if nodelay && matches!(self, SocketPlace::Port(..)) {
            socket.set_tcp_nodelay(true)?;
        }
        match socket.connect(&address) {
            Err(error) if !is_begun(&error) => Err(error),
            _ => Ok(socket),
        }
    }
}
