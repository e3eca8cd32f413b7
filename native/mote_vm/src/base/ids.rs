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
    /// Its name.
    pub name: Atom,
    /// The number of values that it captures.
    pub captures: usize,
}
