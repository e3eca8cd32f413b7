//! What the sockets of a sponsor have done, all together.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! counts {
    ($($(#[$about:meta])* $name:ident,)*) => {
        /// Counters that the threads of one sponsor write and anybody reads.
        #[derive(Default)]
        pub(crate) struct SocketCounts {
            $(pub(crate) $name: AtomicU64,)*
        }

        /// The counters of the sockets of a sponsor.
        #[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
        pub struct NetCounts {
            $($(#[$about])* pub $name: u64,)*
        }

        impl NetCounts {
            /// The numbers with their names.
            pub fn each(&self, mut show: impl FnMut(&'static str, u64)) {
                $(show(stringify!($name), self.$name);)*
            }
        }

        impl SocketCounts {
            pub(crate) fn read(&self) -> NetCounts {
                // Relaxed: numbers that guard nothing.
                NetCounts { $($name: self.$name.load(Relaxed),)* }
            }
        }
    };
}

counts! {
    /// Sockets that are open, listeners included.
    open,
    /// Connections that were accepted, and that were made.
    accepted,
    /// See `accepted`.
    connected,
    /// Sockets that were closed, and those of them that nobody held any more.
    closed,
    /// See `closed`.
    collected,
    /// Failures of reads, writes and connections.
    errors,
    /// Number of times that accepting paused, since there were no files left or no memory.
    accept_paused,
    /// Bytes that were read.
    bytes_in,
    /// Bytes that were written.
    bytes_out,
}

/// Adds to a counter.
pub(crate) fn add(counter: &AtomicU64, n: u64) {
    // Relaxed: a number that guards nothing.
    counter.fetch_add(n, Relaxed);
}

/// Takes one off.
pub(crate) fn less(counter: &AtomicU64) {
    counter.fetch_sub(1, Relaxed);
}
