//! TLS for sockets that processes open, as far as this library was built with it.
use mote_vm::machine::net::seal::SealMaker;
use rustler::Binary;
use std::sync::Arc;

/// A chain of certificates and a key, in PEM.
pub type IdentityTerm<'a> = (Binary<'a>, Binary<'a>);

/// The TLS options of a listener: `{identity, hosts, clients | nil, alpn}`.
pub type ServerTerm<'a> = (
    IdentityTerm<'a>,
    Vec<(String, IdentityTerm<'a>)>,
    Option<Vec<Binary<'a>>>,
    Vec<Binary<'a>>,
);

/// The server that a client means, whom it trusts, what it presents and speaks: `{name | nil, trusted, identity | nil, alpn}`.
pub type ClientTerm<'a> = (
    Option<String>,
    Vec<Binary<'a>>,
    Option<IdentityTerm<'a>>,
    Vec<Binary<'a>>,
);

/// The reason why there is no TLS.
pub enum TlsError {
    /// The library was built without it.
    #[cfg_attr(feature = "tls", allow(dead_code))]
    Missing,
    /// The certificates cannot be used, for this reason.
    #[cfg_attr(not(feature = "tls"), allow(dead_code))]
    Bad(String),
}

/// What seals connections, or the reason why nothing does.
pub type Seals = Result<Arc<dyn SealMaker>, TlsError>;

#[cfg(feature = "tls")]
pub fn server_seals((identity, hosts, clients, alpn): &ServerTerm<'_>) -> Seals {
    let hosts = hosts.iter().map(|(name, of)| (name.clone(), parts(of)));
    let hosts: Vec<_> = hosts.collect();
    let clients = clients.as_ref().map(|clients| slices(clients));
    let made = mote_tls::config::server(parts(identity), &hosts, clients.as_deref(), owned(alpn));
    made.map_err(TlsError::Bad)
}

#[cfg(feature = "tls")]
pub fn client_seals((name, trusted, identity, alpn): &ClientTerm<'_>) -> Seals {
    let identity = identity.as_ref().map(parts);
    let made = mote_tls::config::client(name.as_deref(), &slices(trusted), identity, owned(alpn));
    made.map_err(TlsError::Bad)
}

#[cfg(feature = "tls")]
fn parts<'t>((certificates, key): &'t IdentityTerm<'_>) -> mote_tls::config::Identity<'t> {
    mote_tls::config::Identity { certificates, key }
}

#[cfg(feature = "tls")]
fn slices<'t>(binaries: &'t [Binary<'_>]) -> Vec<&'t [u8]> {
    binaries.iter().map(|binary| &**binary).collect()
}

#[cfg(feature = "tls")]
fn owned(binaries: &[Binary<'_>]) -> Vec<Vec<u8>> {
    binaries.iter().map(|binary| binary.to_vec()).collect()
}

#[cfg(not(feature = "tls"))]
pub fn server_seals(_: &ServerTerm<'_>) -> Seals {
    Err(TlsError::Missing)
}

#[cfg(not(feature = "tls"))]
pub fn client_seals(_: &ClientTerm<'_>) -> Seals {
    Err(TlsError::Missing)
}
