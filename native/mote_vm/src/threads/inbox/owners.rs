//! Events for actors that the thread owns, and actors that are given away or taken from it (inbox.rs, invariant 9).
use super::contents::Entry;
use super::{Inbox, Inner, Wakes};
use crate::base::ids::ThreadNumber;
use crate::base::sync::{AcqRel, Acquire};
use crate::turns::queue::Event;

/// The reason why events were not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotIn {
    /// The thread has ended.
    Closed,
    /// The thread may not own their actors any more.
    Moved,
}

/// Events that a thread giving actors away has taken out of its inbox.
pub(crate) struct TakenOut {
    pub(crate) events: Vec<Event>,
    /// Number of places in the room that they had.
    pub(crate) places: usize,
    /// True if nothing else was there.
    pub(crate) emptied: bool,
}

impl Inbox {
    /// Returns the version of the thread's actors at this moment (invariant 9).
    pub(crate) fn version(&self) -> u64 {
        // Acquire: what is read of a record afterwards is no older.
        self.version.load(Acquire)
    }

    fn admits(&self, inner: &Inner, version: Option<u64>) -> Result<(), NotIn> {
        let now = self.version();
        match version {
            _ if inner.closed => Err(NotIn::Closed),
            Some(version) if version != now || !now.is_multiple_of(2) => Err(NotIn::Moved),
            _ => Ok(()),
        }
    }

    /// Moves all of `events` in, of which there are some, if `version` still holds where one is given; otherwise leaves
    /// them.
    pub(crate) fn push_events(
        &self,
        events: &mut Vec<Event>,
        version: Option<u64>,
    ) -> Result<Wakes, NotIn> {
        let mut inner = self.inner.lock();
        self.admits(&inner, version)?;
        inner.room.add(events.len());
        let bytes = size_of_val(events.as_slice());
        self.quota.take_anyway(bytes);
        inner.contents.charged += bytes;
        self.count(&inner.contents);
        inner.contents.events.append(events);
        drop(inner);
        Ok(self.announce_pushed())
    }

    /// Adds an event for an actor that another thread wants to run, if this one owned it at `version` and still does.
    pub(crate) fn push_wanted(
        &self,
        event: Event,
        by: ThreadNumber,
        version: u64,
    ) -> Result<Wakes, NotIn> {
        let mut inner = self.inner.lock();
        self.admits(&inner, Some(version))?;
        self.add(&mut inner, Entry::Migrate(event, by));
        inner.room.add(1);
        inner.contents.events.push(event);
        drop(inner);
        Ok(self.announce_pushed())
    }

    /// Adds what is queued for actors that are given to this thread; `give` changes their records, under the lock: so
    /// whoever sees by the record that the thread owns an actor puts things in behind this.
    pub(crate) fn push_given(
        &self,
        events: Vec<Event>,
        give: impl FnOnce(&[Event]),
    ) -> Result<Wakes, Vec<Event>> {
        let mut inner = self.inner.lock();
        if inner.closed {
            return Err(events);
        }
        give(&events);
        self.add(&mut inner, Entry::Given(events));
        drop(inner);
        Ok(self.announce_pushed())
    }

    /// Its thread begins to give actors away: the events for those, by `goes`, are taken out. Nothing if a collection has
    /// not seen them yet, or if one that another thread wants to run must wait.
    pub(crate) fn begin_giving(
        &self,
        goes: impl Fn(&Event) -> bool,
        must_wait: impl Fn(&Event) -> bool,
    ) -> Option<TakenOut> {
        let mut inner = self.inner.lock();
        let mut entries = inner.contents.entries.iter();
        let waits = |entry: &Entry| matches!(entry, Entry::Migrate(event, _) if must_wait(event));
        if inner.contents.unseen || entries.any(waits) {
            return None;
        }
        self.version.fetch_add(1, AcqRel);
        let was_empty = inner.contents.len() == 0;
        let contents = &mut inner.contents;
        let taken = contents.events.extract_if(.., |event| goes(event));
        let events: Vec<Event> = taken.collect();
        let stays = |entry: &Entry| !matches!(entry, Entry::Migrate(event, _) if goes(event));
        let asked = contents.entries.len();
        contents.entries.retain(stays);
        let asked = asked - contents.entries.len();
        let emptied = !was_empty && inner.contents.len() == 0;
        let places = events.len() + asked;
        Some(TakenOut {
            events,
            places,
            emptied,
        })
    }

    /// Ends the giving: what was given is where it belongs, and so are the events that were taken out.
    pub(crate) fn end_giving(&self, taken: &TakenOut) {
        let inner = self.inner.lock();
        self.version.fetch_add(1, AcqRel);
        let room = inner.room.clone();
        drop(inner);
        room.leave(taken.places);
        if taken.emptied {
            self.quiescence.done(1);
        }
    }

    /// Lets `take` take an actor from its thread, which sleeps, unless something waits here.
    pub(crate) fn let_take(&self, take: impl FnOnce() -> bool) -> Option<bool> {
        let inner = self.inner.lock();
        if inner.contents.len() > 0 || !self.version().is_multiple_of(2) {
            return None;
        }
        self.version.fetch_add(1, AcqRel);
        let taken = take();
        self.version.fetch_add(1, AcqRel);
        Some(taken)
    }
}
