//! A timer: a message that waits for its time.
use crate::base::ids::{ThreadNumber, TimerId};
use crate::boundary::parcel::Parcel;
use crate::values::value::Value;

/// A message on its way: from a turn, or from outside.
pub(crate) enum Message {
    Value(Value),
    Parcel(Box<Parcel>),
}

impl Message {
    /// Returns the bytes that it is charged with beside its timer: a value is in a heap.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Message::Value(_) => 0,
            Message::Parcel(parcel) => parcel.bytes(),
        }
    }

    /// The same once more: it holds no actors.
    pub(super) fn copied(&self) -> Message {
        match self {
            Message::Value(value) => Message::Value(*value),
            Message::Parcel(parcel) => Message::Parcel(Box::new(parcel.copied())),
        }
    }
}

/// A message that waits for its time.
pub(crate) struct Timer {
    pub(crate) target: Value,
    pub(crate) message: Message,
    pub(super) serial: u64,
}

impl Timer {
    /// What it is for that thread's number. Its place is left out.
    pub(super) fn id(&self, thread: ThreadNumber) -> TimerId {
        TimerId {
            serial: self.serial,
            thread,
            place: 0,
        }
    }

    pub(super) fn show(&self, mut show: impl FnMut(Value)) {
        show(self.target);
        match &self.message {
            Message::Value(message) => show(*message),
            Message::Parcel(parcel) => parcel.each_address(show),
        }
    }
}

// SAFETY: the values are plain words; only dispatch threads and the collector look behind them.
unsafe impl Send for Timer {}
