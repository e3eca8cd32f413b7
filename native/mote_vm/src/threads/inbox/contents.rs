//! The contents of an inbox, and what a drain takes.
use crate::boundary::batch::Batch;
use crate::boundary::parcel::Parcel;
use crate::boundary::turn_away::TurnEnd;
use crate::turns::queue::Event;
use crate::values::handles::Target;
use std::any::Any;
use std::mem::take;

/// Everything that enters besides the events of other threads.
pub(crate) enum Entry {
    /// A message from outside for an actor.
    Message(Target, Parcel),
    /// Many of them.
    Batch(Box<Batch>),
    /// A look at an actor between two of its turns.
    Inspect(Target, ThreadTask),
    /// The clock was moved by hand: fire what is due.
    Alarm,
    /// Something to do between two turns.
    Task(ThreadTask),
    /// A turn that was away has ended (away.rs).
    Ended(Box<TurnEnd>),
    /// Collect, whether it is due or not, then call.
    Collect(Done),
    /// The thread of that number wants to run the event, which is among the others, for an actor that this one owns.
    Migrate(Event, u16),
    /// Events queued for actors that were given to this thread. The actors are in transit until it takes these in.
    Given(Vec<Event>),
    /// The sponsor is removed: hand everything over and end.
    Retire,
}

/// Charge for an entry: twice its size, for the room by which the list of entries grows.
pub(super) const ENTRY_BYTES: usize = 2 * size_of::<Entry>();

impl Entry {
    /// Returns its charge, its parcel included.
    pub(super) fn bytes(&self) -> usize {
        let parcel = match self {
            Entry::Message(_, parcel) => parcel.bytes(),
            Entry::Batch(batch) => batch.bytes(),
            Entry::Ended(ended) => ended.bytes(),
            Entry::Given(events) => size_of_val(events.as_slice()),
            _ => 0,
        };
        ENTRY_BYTES + parcel
    }

    /// The part of it that foreign values keep, which takes no time to unpack.
    fn external_bytes(&self) -> usize {
        match self {
            Entry::Message(_, parcel) => parcel.external_bytes(),
            Entry::Batch(batch) => batch.external_bytes(),
            Entry::Ended(ended) => ended.external_bytes(),
            _ => 0,
        }
    }
}

impl Entry {
    /// Returns the number of things that it counts as.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Entry::Batch(batch) => batch.len(),
            Entry::Given(events) => events.len(),
            _ => 1,
        }
    }
}

/// Something that a dispatch thread does for a caller outside, between two turns, with its own side: thread.rs makes it.
pub(crate) type ThreadTask = Box<dyn FnOnce(&mut dyn Any) + Send>;

/// Called when what was asked for is done.
pub(crate) type Done = Box<dyn FnOnce() + Send>;

/// Something in an inbox, shown to the collector.
pub(crate) enum InboxItem<'a> {
    Event(Event),
    Entry(&'a Entry),
}

/// An emptied list keeps room for this many things.
const ROOM_KEPT: usize = 4096;

/// See `drain_little`.
const LITTLE: usize = 64;
pub(super) const LITTLE_BYTES: usize = 64 << 10;

/// The contents of an inbox, as a drain takes them.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) events: Vec<Event>,
    pub(crate) entries: Vec<Entry>,
    /// Messages in batches, beyond one for each batch.
    pub(crate) more: usize,
    /// Messages whose senders would stand in, and ends of turns, whose workers would (stand_in.rs).
    pub(crate) claimed: usize,
    /// Invariant 7.
    pub(crate) unseen: bool,
    /// Places taken ahead, and not used.
    pub(crate) places: usize,
    /// Its charge, and the part of it that was taken ahead and is not used.
    pub(super) charged: usize,
    pub(super) spare: usize,
}

impl Contents {
    pub(super) fn add(&mut self, entry: Entry) {
        self.more += entry.weight() - 1;
        self.claimed += usize::from(matches!(entry, Entry::Ended(_)));
        self.entries.push(entry);
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len() + self.entries.len() + self.more
    }

    /// Shows everything.
    pub(crate) fn each(&self, mut show: impl FnMut(InboxItem<'_>)) {
        for event in &self.events {
            show(InboxItem::Event(*event));
        }
        for entry in &self.entries {
            show(InboxItem::Entry(entry));
        }
    }

    /// Shows the first things, until they count as `n`. Returns how many they count as, and how many there are.
    pub(super) fn first(&self, n: usize, mut show: impl FnMut(InboxItem<'_>)) -> (usize, usize) {
        let events = self.events.iter().take(n);
        events.for_each(|event| show(InboxItem::Event(*event)));
        let mut shown = self.events.len().min(n);
        for entry in &self.entries {
            let weight = entry.weight();
            if shown + weight > n {
                break;
            }
            show(InboxItem::Entry(entry));
            shown += weight;
        }
        (shown, self.len())
    }

    /// Empty again: keeps no more room than is often needed.
    pub(crate) fn reset(&mut self) {
        let (mut events, mut entries) = (take(&mut self.events), take(&mut self.entries));
        events.clear();
        entries.clear();
        events.shrink_to(ROOM_KEPT);
        entries.shrink_to(ROOM_KEPT);
        *self = Contents {
            events,
            entries,
            ..Contents::default()
        };
    }

    /// Returns the number of messages from outside that no caller waits for, if these are few and there is nothing else.
    pub(crate) fn only_sent(&self) -> usize {
        let sent = |entry: &Entry| matches!(entry, Entry::Message(..));
        let few = self.claimed == 0 && self.events.is_empty() && self.entries.len() <= LITTLE;
        match few && self.entries.iter().all(sent) {
            true => self.entries.len(),
            false => 0,
        }
    }

    /// Returns the number of things to do that it counts as (invariant 8).
    pub(crate) fn outstanding(&self) -> usize {
        usize::from(self.len() > 0)
    }

    /// Returns the charge for its contents.
    pub(super) fn bytes(&self) -> usize {
        self.charged - self.spare
    }

    /// See `drain_little`. What foreign values keep is looked at only when it seems to be much.
    pub(super) fn is_little(&self) -> bool {
        let external = || {
            self.entries
                .iter()
                .map(Entry::external_bytes)
                .sum::<usize>()
        };
        let few = self.len() <= LITTLE;
        few && (self.bytes() <= LITTLE_BYTES || self.bytes() - external() <= LITTLE_BYTES)
    }
}
