//! What waits in a machine that stands still, as an image has it.
//!
//! Events are written in an order in which none overtakes another one of the same sender to the same actor: those of actors on
//! their way between threads first, then those that are held for them, then what is queued, what has come in, and what is to leave.
//! An event whose turn is away comes before all that wait for its actor: its turn has changed nothing, and begins again.
//!
//! Invariants:
//! 1. What is shown here is what roots.rs marks, but for what only the outside could use: looks and tasks that wait, what is counted,
//!    and actors that it holds addresses of, unless the machine has an identity.
//! 2. Of a queue only the last chunk is copied. The others stay as they are while the machine stands still, and for as long as a
//!    collection that has begun meanwhile has not marked (turns/queue.rs, invariant 4).
//! 3. Timers are read beside turns, if turns go on (timers/saved.rs).
use crate::base::ids::TimerId;
use crate::boundary::timers::{Message, SavedTimer, SavedTimers, NEVER};
use crate::heap::Heap;
use crate::look::holders::HeldIn;
use crate::look::survey::Survey;
use crate::threads::inbox::{Entry, InboxItem};
use crate::threads::shared::Machine;
use crate::threads::station::Station;
use crate::turns::queue::{Event, KeptEvents};
use crate::values::actor::{Actor, SponsorId};
use crate::values::handles::KeptKeys;
use crate::values::value::Value;

/// Timers that are read while those who arm and fire them wait.
const READ_AT_ONCE: usize = 1024;

/// An event, the sponsor where it waits, and what it waits in.
#[derive(Clone, Copy)]
pub(super) struct SavedEvent {
    pub(super) sponsor: SponsorId,
    pub(super) event: Event,
    pub(super) held: HeldIn,
}

/// Events that follow each other.
enum SavedEvents {
    One(SavedEvent),
    Queued(SponsorId, KeptEvents),
}

/// A timer whose message is in a heap.
pub(super) struct WaitingTimer {
    pub(super) sponsor: SponsorId,
    pub(super) due: u64,
    pub(super) id: TimerId,
    pub(super) target: Value,
    pub(super) message: Value,
}

/// Everything that waits, as values, and everything that the outside has keys of.
#[derive(Default)]
pub(super) struct Waits {
    events: Vec<SavedEvents>,
    timers: SavedTimers,
    pub(super) keys: KeptKeys,
}

// SAFETY: what it refers to is read by one thread at a time, and changes no more than image/moment.rs allows for.
unsafe impl Send for Waits {}

impl Waits {
    fn put(&mut self, sponsor: SponsorId, event: Event, held: HeldIn) {
        // What there was no memory for is lost, as when it enters.
        if !event.message.is_none() {
            self.events.push(SavedEvents::One(SavedEvent {
                sponsor,
                event,
                held,
            }));
        }
    }

    /// Returns the timers in the order in which they fire: those that were armed again came first. Reads them beside turns, unless they
    /// were read at once. `now` is the time of the moment.
    pub(super) fn timers(&self, machine: &Machine, now: u64, heap: &mut Heap) -> Vec<WaitingTimer> {
        while self.timers.are_awaited() && !machine.is_stopping() {
            for station in machine.stations().all() {
                station.timers.save_some(READ_AT_ONCE);
            }
        }
        let timers = self.timers.take().into_iter().map(|timer| WaitingTimer {
            sponsor: timer.sponsor,
            // One that waits for the end of a process fires at once in another machine, for which no process lives on.
            due: match timer.due - now.min(timer.due) >= NEVER / 2 {
                true => now,
                false => timer.due,
            },
            id: timer.id,
            target: timer.target,
            message: match timer.message {
                Message::Value(message) => message,
                Message::Parcel(parcel) => parcel.copy(heap),
            },
        });
        let mut timers: Vec<WaitingTimer> = timers.collect();
        timers.retain(|timer| !timer.message.is_none());
        timers.sort_by_key(|timer| (timer.due, timer.id.in_order(), timer.id.thread));
        timers
    }

    /// Shows every event, in order.
    pub(super) fn each_event(&self, mut show: impl FnMut(SavedEvent)) {
        for events in &self.events {
            match events {
                SavedEvents::One(event) => show(*event),
                SavedEvents::Queued(sponsor, kept) => {
                    let (sponsor, mut kept) = (*sponsor, kept.clone());
                    let mut show = |event| {
                        show(SavedEvent {
                            sponsor,
                            event,
                            held: HeldIn::Message,
                        });
                    };
                    while kept.take(usize::MAX, &mut show) {}
                }
            }
        }
    }
}

impl Survey<'_> {
    /// Everything that waits, in the order that the head of this file says. Timers are read later if turns go on.
    pub(super) fn waits(&self, heap: &mut Heap, beside: bool) -> Waits {
        let mut waits = Waits {
            timers: SavedTimers::new(&self.machine.pool().quota),
            ..Waits::default()
        };
        let mut put = |sponsor, event, held| waits.put(sponsor, event, held);
        for thread in &self.threads {
            let sponsor = thread.context.sponsor.id;
            if let Some(away) = &thread.away {
                away.each_turn(|event| put(sponsor, event, HeldIn::Turn));
                away.each_waiting(|event| put(sponsor, event, HeldIn::Message));
            }
        }
        let stations = self.machine.stations().all();
        let mut put = |sponsor, event| put(sponsor, event, HeldIn::Message);
        for thread in &self.threads {
            let sponsor = thread.context.sponsor.id;
            thread.each_told_closed(heap, |event| put(sponsor, event));
        }
        for station in &stations {
            let sponsor = self.sponsor_of(station);
            station.inbox.each(|item| {
                if let InboxItem::Entry(Entry::Given(events)) = item {
                    events.iter().for_each(|event| put(sponsor, *event));
                }
            });
        }
        for thread in &self.threads {
            let (sponsor, leaving) = (thread.context.sponsor.id, &thread.turn.leaving);
            let stay = leaving.held.iter().chain(&leaving.wanted);
            stay.for_each(|event| put(sponsor, *event));
        }
        for thread in &self.threads {
            let sponsor = thread.context.sponsor.id;
            let mut last = Vec::new();
            if let Some(kept) = thread.turn.queue.snapshot(|event| last.push(event)) {
                waits.events.push(SavedEvents::Queued(sponsor, kept));
            }
            let last = last.into_iter();
            last.for_each(|event| waits.put(sponsor, event, HeldIn::Message));
        }
        let mut put = |sponsor, event| waits.put(sponsor, event, HeldIn::Message);
        for station in &stations {
            let sponsor = self.sponsor_of(station);
            station.inbox.each(|item| match item {
                // What has been noted there is still to be written into the journal that begins here.
                InboxItem::Entry(_) if self.machine.journal().is_some() => {}
                item => entered(item, heap, |event| put(sponsor, event)),
            });
        }
        for thread in &self.threads {
            let sponsor = thread.context.sponsor.id;
            for (target, parcel) in &thread.seeded.arrivals {
                put(sponsor, message(target.0, parcel.copy(heap)));
            }
            thread.turn.leaving.each_listed(|to, event| {
                let station = stations.iter().find(|station| station.number == to);
                put(
                    station.map_or(sponsor, |station| self.sponsor_of(station)),
                    event,
                );
            });
        }
        for station in &stations {
            let (sponsor, timers) = (self.sponsor_of(station), &waits.timers);
            match beside {
                true => station.timers.begin_saving(sponsor, timers),
                false => station.timers.each_armed(|due, id, timer| {
                    timers.push(SavedTimer::new(sponsor, due, id, timer));
                }),
            }
        }
        waits
    }

    /// The sponsor of a thread; the first one, if that has ended.
    fn sponsor_of(&self, station: &Station) -> SponsorId {
        let sponsors = self.machine.sponsors().all();
        let of = sponsors
            .iter()
            .find(|s| s.station(station.number).is_some());
        of.unwrap_or(&sponsors[0]).id
    }
}

fn message(target: *const Actor, message: Value) -> Event {
    Event { target, message }
}

/// Shows what has come into an inbox: what was sent to actors that stay.
fn entered(item: InboxItem<'_>, heap: &mut Heap, mut put: impl FnMut(Event)) {
    match item {
        InboxItem::Event(event) => put(event),
        InboxItem::Entry(Entry::Message(target, parcel)) => {
            put(message(target.0, parcel.copy(heap)));
        }
        InboxItem::Entry(Entry::Batch(batch)) => {
            batch.copy(heap, |target, value| put(message(target.0, value)));
        }
        InboxItem::Entry(_) => {}
    }
}
