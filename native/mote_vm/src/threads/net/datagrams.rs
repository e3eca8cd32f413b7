//! Datagrams that come. Those that go are in line like other bytes (progress.rs).
use super::words::words;
use super::Service;
use crate::base::atom::Atom;
use crate::boundary::sockets::counts::add;
use crate::boundary::sockets::datagrams::receive;
use crate::boundary::sockets::reading::ReadSpec;
use crate::platform::failure::name;

impl Service<'_> {
    /// Reads the next datagram for whoever waits for it.
    pub(super) fn receive_on(&mut self, number: u32) {
        let net = &mut *self.net;
        let (sockets, scratch) = (&net.sockets, &mut net.scratch);
        let came = sockets.with(number, |record| {
            let ReadSpec::Datagram(max) = record.spec else {
                return None;
            };
            let max = max as usize;
            if !sockets.quota.has(max.min(scratch.len())) {
                return Some((max, None));
            }
            receive(record, scratch).map(|came| (max, Some(came)))
        });
        let Some(Some((max, came))) = came else {
            return;
        };
        let Some(customer) = self.end_read(number) else {
            return;
        };
        match came {
            Some(Ok((n, from))) => {
                add(&self.net.sockets.counts.bytes_in, n as u64);
                let peer = self.address(&from);
                // SAFETY: the system has written the first `n` bytes.
                let came = unsafe { &*(&raw const self.net.scratch[..n.min(max)] as *const [u8]) };
                let bytes = self.turn.heap.insist(|heap| heap.bytes(came));
                let both = self.tuple([peer, bytes]);
                let word = if n > max { words().cut } else { Atom::OK };
                self.answer_with(customer, word, both);
            }
            Some(Err(error)) => {
                add(&self.net.sockets.counts.errors, 1);
                self.refuse(customer, name(&error));
            }
            None => {
                self.lacked_memory();
                self.refuse(customer, Atom::NO_MEMORY);
            }
        }
    }
}
