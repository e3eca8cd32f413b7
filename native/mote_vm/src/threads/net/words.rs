//! The atoms of requests and answers.
use crate::base::atom::Atom;
use std::sync::OnceLock;

macro_rules! words {
    ($($name:ident = $text:literal,)*) => {
        /// The atoms that requests are compared with.
        pub(super) struct SocketWords {
            $(pub(super) $name: Atom,)*
        }

        pub(super) fn words() -> &'static SocketWords {
            static WORDS: OnceLock<SocketWords> = OnceLock::new();
            WORDS.get_or_init(|| SocketWords {
                $($name: Atom::new($text),)*
            })
        }
    };
}

words! {
    bad_request = "bad_request",
    both = "both",
    busy = "busy",
    close = "close",
    closed = "closed",
    connect = "connect",
    connected = "connected",
    connection = "connection",
    counters = "counters",
    cut = "cut",
    eacces = "eacces",
    info = "info",
    keepalive = "keepalive",
    line = "line",
    local = "local",
    nodelay = "nodelay",
    overloaded = "overloaded",
    packet = "packet",
    peer = "peer",
    read = "read",
    set = "set",
    shutdown = "shutdown",
    some = "some",
    tls = "tls",
    too_long = "too_long",
    until = "until",
    write = "write",
    write_to = "write_to",
}

/// An atom that is only answered.
pub(super) fn word(name: &str) -> Atom {
    Atom::new(name)
}
