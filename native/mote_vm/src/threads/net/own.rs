//! What a thread of an I/O sponsor has besides what any thread has.
use crate::boundary::sockets::reading::CHUNK;
use crate::boundary::sockets::transfer::ReadRoom;
use crate::boundary::sockets::Sockets;
use crate::platform::poller::Ready;
use crate::values::value::Value;
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Instant;

/// The sockets of one thread, and what it needs to serve them.
pub(crate) struct Net {
    pub(crate) sockets: Arc<Sockets>,
    /// The sockets that the last wait has found ready.
    pub(super) ready: Vec<Ready>,
    /// The numbers of those with something to write.
    pub(super) dirty: Vec<u32>,
    /// The numbers of those at which there is more to do than was done at once.
    pub(super) more: Vec<u32>,
    /// Connections with bytes that wait, and the last serial number of one.
    pub(super) unsent: VecDeque<Unsent>,
    pub(super) unsent_serial: u16,
    pub(super) scratch: Box<ReadRoom>,
    /// Customers whose bytes have been written.
    pub(super) written: Vec<Value>,
}

/// A connection with bytes that wait (unsent.rs).
pub(super) struct Unsent {
    pub(super) number: u32,
    pub(super) serial: u16,
    /// The time of the next look, and how many bytes had gone before.
    pub(super) until: Instant,
    pub(super) bytes_out: u64,
}

impl Net {
    pub(crate) fn new(sockets: Arc<Sockets>) -> Net {
        Net {
            sockets,
            ready: Vec::new(),
            dirty: Vec::new(),
            more: Vec::new(),
            unsent: VecDeque::new(),
            unsent_serial: 0,
            scratch: vec![MaybeUninit::uninit(); CHUNK].into_boxed_slice(),
            written: Vec::new(),
        }
    }
}
