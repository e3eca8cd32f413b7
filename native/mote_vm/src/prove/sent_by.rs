//! Who has sent an event, where the order of events depends on it.

/// The one who has sent an event, as far as the order of events depends on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct SentBy(u32);

impl SentBy {
    /// Nobody's other events are ordered with it.
    pub(super) const ANY: SentBy = SentBy(0);
    /// The actor gives it back to itself, before all that waits.
    pub(super) const ITSELF: SentBy = SentBy(1);

    /// It has come before, and comes once more: nobody's other events are ordered with it.
    pub(super) const COPY: SentBy = SentBy(2);

    /// The sender of a timer that is armed: nobody yet.
    pub(super) const ARMED: SentBy = SentBy(3);

    /// The clock: its timer has fired.
    pub(super) const CLOCK: SentBy = SentBy(4);

    /// Returns the mark of a sender that sends nothing more, told from others by a number.
    pub(super) fn gone(number: u32) -> SentBy {
        SentBy(5 + 2 * number)
    }

    /// Returns the mark of that actor, which sends nothing more.
    pub(super) fn gone_actor(number: u32) -> SentBy {
        SentBy::gone(number + 1)
    }

    pub(super) fn actor(number: u32) -> SentBy {
        SentBy(6 + 2 * number)
    }

    /// The actor's number, if it is one.
    pub(super) fn as_actor(self) -> Option<u32> {
        (self.0 > 5 && self.0.is_multiple_of(2)).then(|| (self.0 - 6) / 2)
    }

    /// The number of somebody who sends nothing more.
    pub(super) fn as_gone(self) -> Option<u32> {
        (self.0 >= 5 && !self.0.is_multiple_of(2)).then(|| (self.0 - 5) / 2)
    }

    /// Returns whether no other event has to come before it.
    pub(super) fn is_open(self) -> bool {
        self == SentBy::ANY || self == SentBy::COPY
    }

    /// Returns whether it is kept in its order whoever it waits for: for an actor itself, or for the clock.
    pub(super) fn is_kept(self) -> bool {
        self == SentBy::ITSELF || self == SentBy::ARMED
    }

    pub(super) fn code(self) -> u32 {
        self.0
    }

    pub(super) fn of_code(code: u32) -> SentBy {
        SentBy(code)
    }
}
