//! What a listener or a client is to present, and whom it is to trust.
use crate::seal::{ClientTls, ServerTls};
use mote_vm::machine::net::seal::SealMaker;
use rustls::crypto::ring::default_provider;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::collections::HashMap;
use std::sync::Arc;

/// A chain of certificates, its own first, and the key of that: both in PEM.
#[derive(Clone, Copy)]
pub struct Identity<'a> {
    /// The chain.
    pub certificates: &'a [u8],
    /// The key.
    pub key: &'a [u8],
}

/// The certificates of those who are trusted, each in PEM, or one in DER.
pub type Trusted<'a> = &'a [&'a [u8]];

/// Builds the TLS configuration of a listener. `hosts` are the identities for clients that ask for one of these names, and
/// `clients` those who have signed the certificates that clients must have. The error says what is wrong.
pub fn server(
    identity: Identity<'_>,
    hosts: &[(String, Identity<'_>)],
    clients: Option<Trusted<'_>>,
    alpn: Vec<Vec<u8>>,
) -> Result<Arc<dyn SealMaker>, String> {
    let provider = Arc::new(default_provider());
    let mut identities = Identities {
        usual: certified(identity, &provider)?,
        hosts: HashMap::new(),
    };
    for (name, identity) in hosts {
        let identity = certified(*identity, &provider)?;
        identities.hosts.insert(name.to_ascii_lowercase(), identity);
    }
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(said)?;
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(trusted) => {
            let roots = Arc::new(roots(trusted)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
            builder.with_client_cert_verifier(verifier.build().map_err(said)?)
        }
    };
    let mut config = builder.with_cert_resolver(Arc::new(identities));
    config.alpn_protocols = alpn;
    Ok(Arc::new(ServerTls(Arc::new(config))))
}

/// Builds the TLS configuration of connections to servers that must prove to be `name`, or each its own address, to one of
/// the trusted. The error says what is wrong.
pub fn client(
    name: Option<&str>,
    trusted: Trusted<'_>,
    identity: Option<Identity<'_>>,
    alpn: Vec<Vec<u8>>,
) -> Result<Arc<dyn SealMaker>, String> {
    let server = |name: &str| {
        let server = ServerName::try_from(name.to_string());
        server.map_err(|_| format!("{name:?} is no name of a server"))
    };
    let name = name.map(server).transpose()?;
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(said)?
        .with_root_certificates(roots(trusted)?);
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => builder
            .with_client_auth_cert(chain(identity)?, key(identity)?)
            .map_err(said)?,
    };
    config.alpn_protocols = alpn;
    Ok(Arc::new(ClientTls(Arc::new(config), name)))
}

/// The identities of a server.
#[derive(Debug)]
struct Identities {
    usual: Arc<CertifiedKey>,
    hosts: HashMap<String, Arc<CertifiedKey>>,
}

impl ResolvesServerCert for Identities {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name().map(str::to_ascii_lowercase);
        let of_host = name.and_then(|name| self.hosts.get(&name));
        Some(of_host.unwrap_or(&self.usual).clone())
    }
}

fn certified(
    identity: Identity<'_>,
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, String> {
    let certified = CertifiedKey::from_der(chain(identity)?, key(identity)?, provider);
    certified.map(Arc::new).map_err(said)
}

fn chain(identity: Identity<'_>) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(identity.certificates).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err("there is no certificate in PEM".into()),
        chain => chain.map_err(|error| format!("the certificate is not PEM: {error}")),
    }
}

fn key(identity: Identity<'_>) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(identity.key)
        .map_err(|_| "there is no private key in PEM, without a password".into())
}

fn roots(trusted: Trusted<'_>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for bytes in trusted {
        let is_pem = bytes.windows(10).any(|part| part == b"-----BEGIN");
        if !is_pem {
            // Of those that a system trusts some may be too old to be read.
            let _ = roots.add(CertificateDer::from(bytes.to_vec()));
            continue;
        }
        for certificate in CertificateDer::pem_slice_iter(bytes) {
            let certificate = certificate.map_err(|e| format!("a certificate is not PEM: {e}"))?;
            roots.add(certificate).map_err(said)?;
        }
    }
    match roots.is_empty() {
        true => Err("there is no certificate to trust".into()),
        false => Ok(roots),
    }
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}
