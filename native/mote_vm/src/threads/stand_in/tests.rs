//! Tests of what a stand-in may forget when it goes, and what not (invariant 5).
use super::*;
use crate::boundary::parcel::Builder;
use crate::testing::still::Still;
use crate::threads::inbox::{Contents, Entry};
use crate::values::handles::Target;
use crate::values::value::Value;

#[test]
fn what_it_gives_to_another_sponsor_is_not_forgotten() {
    let mut still = Still::new(2);
    let thread = &mut still.thread;
    let (station, asker) = {
        let stations = &thread.context.sponsor.stations;
        (stations[0].clone(), stations[1].clone())
    };
    let behaviour = thread.turn.around.program.publish_unsafe();
    let actor = thread.turn.create(behaviour, Value::NIL).address_pointer();
    let wanted = Event {
        target: actor,
        message: Value::TRUE,
    };
    let version = station.inbox.version();
    assert!(station
        .inbox
        .push_wanted(wanted, asker.number, version)
        .is_ok());
    let mut message = Builder::new();
    message.tuple(1);
    assert!(message.integer(7));
    let entry = Entry::Message(Target(actor), message.finish());
    assert!(station.inbox.push(entry).is_ok());
    // Also where it is not known how much stack there is.
    let caller = WaitingCaller {
        depth: LEAST_DEPTH,
        answered: &|| false,
        ran: Cell::default(),
    };
    thread.stand_in(&caller, None);
    let mut contents = Contents::default();
    asker.inbox.drain(&mut contents);
    let Some(Entry::Given(given)) = contents.entries.pop() else {
        panic!("the actor was not given");
    };
    let made_since = thread.turn.heap.tuple(1, |_| Value::NIL);
    assert_eq!(given.len(), 2);
    assert_ne!(given[1].message, made_since);
}

/// An actor that has become what never becomes again: whoever has an event for it runs its turns, and reads what it holds.
#[test]
fn what_others_may_read_is_not_moved() {
    use crate::values::actor::BehaviourId;
    let mut still = Still::new(2);
    let others = still.threads();
    let mut others: Vec<_> = others.into_iter().skip(1).collect();
    let other = &mut others[0];
    let thread = &mut still.thread;
    let program = thread.turn.around.program.clone();
    let (id, safe) = (program.publish_unsafe(), program.publish_safe(2));
    let _: BehaviourId = safe;
    let actor = thread.turn.create(id, Value::NONE).address_pointer();
    let before = (
        thread.turn.heap.position(),
        thread.footprints(),
        thread.turn.counts.becomes,
    );
    // The message, and what the actor becomes because of it.
    let message = thread.turn.heap.tuple(4, |_| Value::NIL);
    let event = Event {
        target: actor,
        message,
    };
    thread.turn.begin(event);
    let part = thread.turn.heap.tuple(2, |_| Value::fixnum(7));
    let state = thread.turn.heap.captures(2, |_| part).expect("memory");
    thread.turn.become_next(safe, state);
    thread.turn.commit();
    // Meanwhile, on another thread: it does not pass the event on, but reads the actor, and may send what that holds.
    let theirs = Event {
        target: actor,
        message: Value::NIL,
    };
    assert!(other.context.clone().route(&mut other.turn, theirs));
    // SAFETY: it was made above.
    let read = unsafe { &*actor }.captured(2).next().expect("a capture");
    assert_eq!(read.as_tuple().map(<[Value]>::len), Some(2));
    thread.forget(&before);
    // SAFETY: the heap that it is in lives.
    let actor = unsafe { &*actor };
    assert_eq!(actor.state(), state, "it has moved");
    assert_eq!(
        read.as_tuple(),
        Some(&[Value::fixnum(7), Value::fixnum(7)][..])
    );
}
