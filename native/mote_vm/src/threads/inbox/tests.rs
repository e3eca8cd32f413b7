//! Places and bytes that are taken ahead, and what an inbox counts as.
use super::admission::{BYTES_AHEAD, PLACES_AHEAD};
use super::contents::LITTLE_BYTES;
use super::*;
use crate::base::atom::Atom;
use crate::boundary::parcel::Builder;
use crate::boundary::parcel::Parcel;
use crate::boundary::room::InLine;
use crate::turns::queue::Event;
use crate::values::foreign::LongBytes;
use crate::values::handles::Target;
use crate::values::value::Value;

fn message() -> Entry {
    Entry::Message(Target(std::ptr::null()), Parcel::atom(Atom::OK))
}

fn send(inbox: &Inbox) -> Option<Wakes> {
    let pushed = inbox.push_from_outside(message(), &mut None, Sender::GoesOn);
    pushed.ok()
}

#[test]
fn places_and_bytes_are_taken_ahead_and_go_back_with_a_drain() {
    let (quota, room) = (
        Arc::new(Quota::default()),
        Arc::new(Room::new(10_000, false)),
    );
    let inbox = Inbox::new(quota.clone(), Arc::default());
    inbox.open(&room);
    assert_eq!(send(&inbox), Some(true));
    let (taken, held) = (room.figures().0, quota.held());
    assert_eq!((taken, held), (PLACES_AHEAD, BYTES_AHEAD));
    assert_eq!(
        send(&inbox),
        Some(false),
        "the first one sees to the waking"
    );
    assert_eq!((room.figures().0, quota.held()), (taken, held));
    assert_eq!(inbox.figures(), (2, PLACES_AHEAD - 2));
    assert_eq!(
        room.figures().1,
        2,
        "only what is used is the most that waited"
    );
    let mut contents = Contents::default();
    inbox.drain(&mut contents);
    assert_eq!((contents.len(), contents.places), (2, PLACES_AHEAD - 2));
    assert_eq!((inbox.figures(), quota.held()), ((0, 0), 0));
    assert_eq!(
        send(&inbox),
        Some(true),
        "nothing is left that was announced"
    );
}

#[test]
fn while_somebody_waits_for_room_a_place_that_was_taken_ahead_is_nobodys() {
    let room = Arc::new(Room::new(32, false));
    let inbox = Inbox::default();
    inbox.open(&room);
    assert!(send(&inbox).is_some());
    assert_eq!(inbox.figures(), (1, 1));
    room.add(32);
    let in_line = InLine::wait(&room, Box::new(drop));
    assert!(send(&inbox).is_none());
    drop(in_line);
    assert!(send(&inbox).is_some());
    assert!(send(&inbox).is_none());
}

#[test]
fn an_inbox_counts_as_one_thing_to_do_while_anything_is_in_it() {
    let quiescence = Arc::<Quiescence>::default();
    let inbox = Inbox::new(Arc::default(), quiescence.clone());
    let event = Event {
        target: std::ptr::null(),
        message: Value::NIL,
    };
    assert!(inbox.push_events(&mut vec![event; 3], None).is_ok());
    assert!(send(&inbox).is_some() && inbox.push(Entry::Alarm).is_ok());
    let mut contents = Contents::default();
    inbox.drain(&mut contents);
    assert_eq!(contents.outstanding(), 1);
    quiescence.done(contents.outstanding());
    assert!(quiescence.is_quiet());
    contents.reset();
    assert_eq!((contents.len(), contents.outstanding()), (0, 0));
}

#[test]
fn what_is_shared_with_the_outside_is_little_to_take_in() {
    let quota = Arc::new(Quota::default());
    let inbox = Inbox::new(quota.clone(), Arc::default());
    let push = |write: fn(&mut Builder)| {
        let mut builder = Builder::new();
        write(&mut builder);
        let entry = Entry::Message(Target(std::ptr::null()), builder.finish());
        assert!(inbox.push(entry).is_ok());
    };
    push(|builder| builder.foreign(Arc::new(LongBytes(vec![7; 2 * LITTLE_BYTES].into()))));
    let mut contents = Contents::default();
    assert!(quota.held() > 2 * LITTLE_BYTES && inbox.drain_little(&mut contents));
    assert_eq!((contents.len(), quota.held()), (1, 0));
    push(|builder| builder.bytes(&[7; LITTLE_BYTES]));
    assert!(!inbox.drain_little(&mut Contents::default()));
}
