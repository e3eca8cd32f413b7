//! What a failure of the system is called in answers.
use crate::base::atom::Atom;
use std::fmt;
use std::io::{Error, ErrorKind};

/// Names of errors of the system, as `:inet` has them.
const NAMES: &[(i32, &str)] = &[
    (libc::EACCES, "eacces"),
    (libc::EADDRINUSE, "eaddrinuse"),
    (libc::EADDRNOTAVAIL, "eaddrnotavail"),
    (libc::EAFNOSUPPORT, "eafnosupport"),
    // To a line of the file system's that is full.
    (libc::EAGAIN, "eagain"),
    (libc::ECONNREFUSED, "econnrefused"),
    (libc::EDESTADDRREQ, "edestaddrreq"),
    (libc::EHOSTUNREACH, "ehostunreach"),
    (libc::EINVAL, "einval"),
    (libc::EISCONN, "eisconn"),
    (libc::EMFILE, "emfile"),
    (libc::EMSGSIZE, "emsgsize"),
    (libc::ENETUNREACH, "enetunreach"),
    (libc::ENFILE, "enfile"),
    (libc::ENOBUFS, "enobufs"),
    (libc::ENOENT, "enoent"),
    (libc::ENOMEM, "enomem"),
    (libc::ENOPROTOOPT, "enoprotoopt"),
    (libc::ENOTCONN, "closed"),
    (libc::ENOTDIR, "enotdir"),
    (libc::EOPNOTSUPP, "eopnotsupp"),
    (libc::EPERM, "eperm"),
    (libc::EPIPE, "closed"),
    (libc::ECONNRESET, "reset"),
    (libc::ECONNABORTED, "reset"),
    (libc::ETIMEDOUT, "timeout"),
];

/// Reasons for which nothing more can be done with a connection.
const FATAL: &[&str] = &["reset", "timeout", "eio"];

/// A failure that is not the system's: that of what seals a connection (boundary/sockets/seal.rs), by the name that it has in
/// answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealError(pub String);

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SealError {}

impl From<SealError> for Error {
    fn from(error: SealError) -> Error {
        Error::new(ErrorKind::InvalidData, error)
    }
}

fn of_seal(error: &Error) -> Option<&SealError> {
    error.get_ref()?.downcast_ref()
}

/// Returns whether nothing can come of the connection any more.
pub(crate) fn is_fatal(error: &Error) -> bool {
    of_seal(error).is_some() || FATAL.contains(&name(error).name())
}

/// The name of an error.
pub(crate) fn name(error: &Error) -> Atom {
    if let Some(SealError(name)) = of_seal(error) {
        return Atom::new(name);
    }
    let number = error.raw_os_error();
    let known = NAMES.iter().find(|(known, _)| Some(*known) == number);
    Atom::new(known.map_or("eio", |(_, name)| name))
}

/// Returns whether the call would have had to wait.
pub(crate) fn would_wait(error: &Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
}

/// Returns whether the system has no files or no memory left for a connection.
pub(crate) fn is_shortage(error: &Error) -> bool {
    let shortages = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM];
    error
        .raw_os_error()
        .is_some_and(|number| shortages.contains(&number))
}

/// Returns whether a connection is being made, and the system will say what comes of it.
pub(crate) fn is_begun(error: &Error) -> bool {
    error.raw_os_error() == Some(libc::EINPROGRESS)
}
