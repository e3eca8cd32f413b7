//! Counts of the events that wait, by actor. Nothing is parked on actors: their events are in queues and inboxes.
use crate::threads::inbox::{Entry, InboxItem};
use crate::threads::shared::Machine;
use crate::threads::station::Station;
use crate::threads::thread::Dispatch;
use crate::values::actor::Actor;
use rustc_hash::FxHashMap;

/// Counts the events that wait for each actor, while all threads stand still.
pub(crate) fn of_all(machine: &Machine, threads: &[&mut Dispatch]) -> FxHashMap<*const Actor, u64> {
    let mut found: FxHashMap<*const Actor, u64> = FxHashMap::default();
    let mut show = |actor: *const Actor| *found.entry(actor).or_default() += 1;
    for station in machine.stations().all() {
        entering(&station, &mut show);
    }
    for thread in threads {
        queued(thread, &mut show);
    }
    found
}

/// Events that are looked at for one actor: a tenth of a millisecond.
const MOST_EVENTS: usize = 64 << 10;

/// Counts the events that wait for an actor with its owner, as far as one look goes. Returns also whether these are all.
/// Called on the owner.
pub(crate) fn here(thread: &Dispatch, actor: *const Actor) -> (u64, bool) {
    let inbox = &thread.context.station.inbox;
    let (mut count, mut left) = (0, MOST_EVENTS);
    let mut show = |target: *const Actor| count += u64::from(target == actor);
    left -= thread.turn.queue.first(left, |event| show(event.target));
    let (shown, entering) = inbox.first(left, |waiting| each_target(waiting, &mut show));
    left -= shown;
    for (target, _) in thread.seeded.arrivals.iter().take(left) {
        show(target.0);
    }
    moving(thread, &mut show);
    let all = thread.turn.queue.len() + entering + thread.seeded.arrivals.len();
    (count, all <= MOST_EVENTS)
}

fn queued(thread: &Dispatch, show: &mut impl FnMut(*const Actor)) {
    thread.turn.queue.each(|event| show(event.target));
    for (target, _) in &thread.seeded.arrivals {
        show(target.0);
    }
    moving(thread, show);
}

/// Shows the actors of events that leave for other threads at the end of the batch, or wait for their actors. Those that wait for
/// turns of theirs outside are among them.
fn moving(thread: &Dispatch, show: &mut impl FnMut(*const Actor)) {
    thread.turn.leaving.each(|event| show(event.target));
    if let Some(away) = &thread.away {
        away.each_waiting(|event| show(event.target));
    }
}

fn entering(station: &Station, show: &mut impl FnMut(*const Actor)) {
    station.inbox.each(|waiting| each_target(waiting, show));
}

fn each_target(waiting: InboxItem<'_>, show: &mut impl FnMut(*const Actor)) {
    match waiting {
        InboxItem::Event(event) => show(event.target),
        InboxItem::Entry(Entry::Given(events)) => {
            events.iter().for_each(|event| show(event.target))
        }
        InboxItem::Entry(Entry::Message(target, _)) => show(target.0),
        InboxItem::Entry(Entry::Batch(batch)) => batch.each_target(|target| show(target.0)),
        InboxItem::Entry(_) => {}
    }
}
