//! What a machine's postman has still to send, and for whom (deliver/mail.rs and deliver/outbound.rs have the invariants).
use crate::term::own_term::OwnTerm;
use mote_vm::boundary::outbox::Letters;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustler::LocalPid;
use std::collections::VecDeque;
use std::sync::atomic::AtomicUsize;
use std::sync::OnceLock;

/// What waits, and for whom: how many consecutive messages.
pub struct Bag<R> {
    pub letters: Letters<OwnTerm>,
    pub rows: VecDeque<(R, usize)>,
}

impl<R> Default for Bag<R> {
    fn default() -> Bag<R> {
        Bag {
            letters: Letters::default(),
            rows: VecDeque::new(),
        }
    }
}

#[derive(Default)]
pub struct Incoming {
    pub bag: Bag<LocalPid>,
    /// How many rows wait for each, those that the postman has taken included.
    pub receivers: FxHashMap<LocalPid, usize>,
    pub told: bool,
}

/// One machine's outgoing mail: its postman, and what that has still to send.
#[derive(Default)]
pub struct Mail {
    pub postman: OnceLock<LocalPid>,
    /// How many messages wait.
    pub waiting: AtomicUsize,
    pub entrance: Mutex<Incoming>,
    /// What the postman has taken.
    pub taken: Mutex<Bag<LocalPid>>,
    pub outbound: Outbound,
}

/// The part of it that is for other nodes.
#[derive(Default)]
pub struct Outbound {
    /// How many messages wait.
    pub waiting: AtomicUsize,
    pub entrance: Mutex<Departures>,
    /// What the postman has taken.
    pub taken: Mutex<Bag<OwnTerm>>,
}

#[derive(Default)]
pub struct Departures {
    pub bag: Bag<OwnTerm>,
    pub told: bool,
}
