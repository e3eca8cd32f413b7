//! Peers that take nothing of what waits for them.
//!
//! Invariants:
//! 1. A connection with bytes that wait is in the list, once; one in whose place another came is not taken for it.
//! 2. The list is in the order of the times: whoever sleeps wakes for the first.
use super::own::{Net, Unsent};
use super::Service;
use crate::base::atom::Atom;
use crate::boundary::sockets::counts::add;
use crate::boundary::sockets::record::SocketRecord;
use crate::threads::thread::Dispatch;
use std::time::{Duration, Instant};

/// The time in which a peer is to take some of the bytes that wait for it.
const PATIENCE: Duration = Duration::from_secs(60);

impl Net {
    /// Looks again later whether the peer has taken something, with a serial number that is never 0.
    fn look_later(&mut self, number: u32, bytes_out: u64) -> u16 {
        self.unsent_serial = self.unsent_serial.wrapping_add(1).max(1);
        self.unsent.push_back(Unsent {
            number,
            serial: self.unsent_serial,
            until: Instant::now() + PATIENCE,
            bytes_out,
        });
        self.unsent_serial
    }
}

impl Service<'_> {
    /// Bytes of a connection wait.
    pub(super) fn has_unsent(&mut self, number: u32) {
        let is_new = |record: &mut SocketRecord| (record.unsent == 0).then_some(record.bytes_out);
        if let Some(Some(bytes_out)) = self.with(number, is_new) {
            let serial = self.net.look_later(number, bytes_out);
            self.with(number, |record| record.unsent = serial);
        }
    }

    /// Closes connections whose peers have taken nothing for so long.
    pub(super) fn look_at_unsent(&mut self) {
        while let Some(first) = self.net.unsent.front() {
            if first.until > Instant::now() {
                return;
            }
            let Some(first) = self.net.unsent.pop_front() else {
                return;
            };
            let found = self.with(first.number, |record| {
                let is_it = record.unsent == first.serial;
                if is_it {
                    record.unsent = 0;
                }
                (is_it && record.output.is_some()).then_some(record.bytes_out)
            });
            match found {
                Some(Some(bytes_out)) if bytes_out == first.bytes_out => {
                    add(&self.net.sockets.counts.errors, 1);
                    self.close(first.number, Atom::TIMEOUT);
                }
                Some(Some(_)) => self.has_unsent(first.number),
                _ => {}
            }
        }
    }
}

impl Dispatch {
    /// The time until it has to look whether a peer has taken something.
    pub(crate) fn until_unsent(&self) -> Option<Duration> {
        let first = self.net.as_ref()?.unsent.front()?;
        Some(first.until.saturating_duration_since(Instant::now()))
    }
}

#[cfg(all(test, not(any(miri, loom))))]
mod tests {
    use super::*;
    use crate::boundary::sockets::transfer::write_later;
    use crate::boundary::sockets::Sockets;
    use crate::testing::still::Still;
    use crate::values::value::Value;
    use std::sync::Arc;

    #[test]
    fn who_takes_nothing_for_long_is_given_up() {
        let mut still = Still::new(1);
        let sockets = Arc::new(Sockets::for_tests());
        let add = || {
            let mut record = SocketRecord::for_tests(std::ptr::null());
            let fill = |bytes: &mut crate::boundary::sockets::buffer::Buffer| bytes.add(b"abc");
            assert!(write_later(
                &mut record,
                (Value::NIL, 3),
                fill,
                &sockets.quota
            ));
            sockets.add(record).0
        };
        let [takes, stands, young] = [add(), add(), add()];
        still.thread.net = Some(Box::new(Net::new(sockets.clone())));
        still.thread.serve(|service| {
            for number in [takes, stands, young, takes] {
                service.has_unsent(number);
            }
            assert_eq!(service.net.unsent.len(), 3);
            service.with(takes, |record| record.bytes_out = 1);
            for unsent in service.net.unsent.iter_mut().take(2) {
                unsent.until = Instant::now();
            }
            service.look_at_unsent();
            let waits: Vec<u32> = service.net.unsent.iter().map(|u| u.number).collect();
            assert_eq!(waits, [young, takes]);
        });
        assert_eq!(sockets.numbers(), [takes, young]);
        assert_eq!(sockets.counts.read().errors, 1);
        assert!(still
            .thread
            .until_unsent()
            .is_some_and(|time| time <= PATIENCE));
        // Another one in its place.
        sockets.with(young, |record| record.unsent = 0);
        still.thread.serve(|service| {
            service.has_unsent(young);
            service.net.unsent[0].until = Instant::now();
            service.look_at_unsent();
            assert_eq!(service.net.unsent.len(), 2);
        });
        assert_eq!(sockets.len(), 2);
    }
}
