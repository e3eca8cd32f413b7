//! Identifiers of threads, timers and behaviours, as every layer uses them.
use super::atom::Atom;

/// The number of a dispatch thread; 0 is nobody's.
pub(crate) type ThreadNumber = u16;

/// The content of a timer's reference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimerId {
    /// The timer's serial number in its thread.
    pub serial: u64,
    /// The number of the thread that armed it.
    pub thread: u16,
    /// Its place in that thread's wheel.
    pub place: u32,
}

impl TimerId {
    /// The order in which timers of one thread were armed, if those from outside (odd numbers) came first.
    pub(crate) fn in_order(self) -> (bool, u64) {
        (self.serial.is_multiple_of(2), self.serial)
    }
}

/// A behaviour by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BehaviourName {
    /// Its module.
    pub module: Atom,
    /// Its name in its unit, where a change from an older version has one that nobody can write.
    pub name: Atom,
    /// Its name as it is written.
    pub written: Atom,
    /// The number of values that it captures, as they are written.
    pub captures: usize,
    /// It keeps messages behind these: what it has stashed is no capture that anybody has written.
    pub stashes: bool,
}

impl BehaviourName {
    /// The number of values that its actors have.
    pub(crate) fn parts(&self) -> usize {
        self.captures + usize::from(self.stashes)
    }

    /// The same, as people are shown it.
    pub fn shown(self) -> BehaviourName {
        BehaviourName {
            name: self.written,
            ..self
        }
    }
}
