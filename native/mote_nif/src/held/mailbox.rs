//! The messages that a machine's postman has yet to send, and their receivers (deliver/mail.rs and deliver/outbound.rs
//! have the invariants).
use crate::held::copied::Copied;
use crate::term::assembly::Assembled;
use crate::term::own_term::OwnTerm;
use mote_vm::boundary::outbox::{Account, Charge, Letters};
use mote_vm::Term as VmTerm;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustler::LocalPid;
use std::collections::VecDeque;
use std::sync::atomic::AtomicUsize;
use std::sync::OnceLock;

/// Waiting messages, with the number of consecutive ones for each receiver.
pub struct Bag<R, F> {
    pub letters: Letters<F>,
    pub rows: VecDeque<(R, usize)>,
}

impl<R, F> Default for Bag<R, F> {
    fn default() -> Bag<R, F> {
        Bag {
            letters: Letters::default(),
            rows: VecDeque::new(),
        }
    }
}

/// Messages that are written while others wait: a microsecond or two.
const AT_ONCE: usize = 64;

/// The place where messages are left, and whether the postman knows of them.
pub struct Inlet<R, F> {
    pub bag: Bag<R, F>,
    told: bool,
}

impl<R, F> Default for Inlet<R, F> {
    fn default() -> Inlet<R, F> {
        Inlet {
            bag: Bag::default(),
            told: false,
        }
    }
}

impl<R, F> Inlet<R, F> {
    /// Writes some messages. Returns their number, and one that is not plain, at which it has stopped.
    pub fn write<'m>(
        &mut self,
        messages: &mut impl Iterator<Item = VmTerm<'m>>,
    ) -> (usize, Option<VmTerm<'m>>) {
        let mut count = 0;
        for message in messages.take(AT_ONCE) {
            if !self.bag.letters.write(message) {
                return (count, Some(message));
            }
            count += 1;
        }
        (count, None)
    }

    /// Counts messages that have just been written for a receiver. Returns whether that is another receiver than before, and whether the
    /// postman must be woken.
    pub fn count(
        &mut self,
        count: usize,
        same: impl FnOnce(&R) -> bool,
        receiver: impl FnOnce() -> R,
    ) -> (bool, bool) {
        let rows = &mut self.bag.rows;
        let new = match rows.back_mut() {
            Some((last, row)) if same(last) => {
                *row += count;
                false
            }
            _ => {
                rows.push_back((receiver(), count));
                true
            }
        };
        (new, !std::mem::replace(&mut self.told, true))
    }

    /// Takes everything that was left, for a bag that is empty. Returns whether there was anything.
    pub fn refill(&mut self, taken: &mut Bag<R, F>) -> bool {
        std::mem::swap(&mut self.bag, taken);
        self.told = !taken.rows.is_empty();
        self.told
    }
}

/// The receivers of the next messages of a bag.
pub enum Receiver {
    /// A single process.
    One(LocalPid),
    /// One message, which is not in the row.
    Each(Box<Fan>),
}

/// One message for several processes.
pub struct Fan {
    pub message: FanMessage,
    pub pids: Vec<LocalPid>,
}

/// The message that all receivers get.
pub enum FanMessage {
    /// A small and plain message, which is made of these when it is sent.
    Letter(Letters<OwnTerm>),
    /// Any other one.
    Made(Assembled),
}

impl Receiver {
    /// All of its processes.
    pub fn pids(&self) -> &[LocalPid] {
        match self {
            Receiver::One(pid) => std::slice::from_ref(pid),
            Receiver::Each(fan) => &fan.pids,
        }
    }

    /// The process, if the messages of a row are for it.
    pub fn of_row(&self) -> Option<LocalPid> {
        match self {
            Receiver::One(pid) => Some(*pid),
            Receiver::Each(_) => None,
        }
    }
}

#[derive(Default)]
pub struct Incoming {
    pub inlet: Inlet<Receiver, Assembled>,
    /// Number of rows waiting for each receiver, including those that the postman has taken.
    pub receivers: FxHashMap<LocalPid, usize>,
}

/// One machine's outgoing mail: its postman, and what that has still to send.
#[derive(Default)]
pub struct Mail {
    pub postman: OnceLock<LocalPid>,
    /// Number of messages that wait.
    pub waiting: AtomicUsize,
    pub incoming: Mutex<Incoming>,
    /// The mail that the postman has taken.
    pub taken: Mutex<Bag<Receiver, Assembled>>,
    pub outbound: Outbound,
}

/// The part of it that is for other nodes.
#[derive(Default)]
pub struct Outbound {
    /// The account that waiting messages are charged to. It is there as soon as there is a postman.
    pub account: OnceLock<Account>,
    /// Number of messages that wait.
    pub waiting: AtomicUsize,
    pub departures: Mutex<Departures>,
    /// The mail that the postman has taken.
    pub taken: Mutex<AtPostman>,
}

/// Messages left for other nodes, by target.
#[derive(Default)]
pub struct Departures {
    pub inlet: Inlet<OwnTerm, Copied>,
    /// Charges for the words written to the row, one part at a time.
    pub charges: Vec<Charge>,
}

#[derive(Default)]
pub struct AtPostman {
    pub bag: Bag<OwnTerm, Copied>,
    pub charges: Vec<Charge>,
    /// True once all messages left have gone to the postman as messages.
    pub is_handed_over: bool,
}
