use super::*;
use std::sync::mpsc::{channel, Receiver};

fn enter(room: &Room) -> bool {
    room.enter_ahead(1) == 1
}

fn room(bound: usize) -> Arc<Room> {
    Arc::new(Room::new(bound, false))
}

fn wait(room: &Arc<Room>) -> (InLine, Receiver<Permit>) {
    let (tell, told) = channel();
    let waiter = move |permit| {
        // A receiver that is gone drops it.
        let _ = tell.send(permit);
    };
    (InLine::wait(room, Box::new(waiter)), told)
}

#[test]
fn the_outside_is_refused_at_the_bound_and_the_inside_never() {
    let room = room(2);
    assert!(enter(&room) && enter(&room));
    assert!(!enter(&room) && !enter(&room));
    room.add(5);
    assert_eq!(room.figures(), (7, 7, 2));
    room.leave(5);
    assert!(!enter(&room));
    room.leave(1);
    assert!(enter(&room));
    assert_eq!(room.figures(), (2, 7, 3));
}

#[test]
fn a_queue_is_settled_in_one_step() {
    let room = room(100);
    room.add(10);
    // Ten have come in, and were queued with three more.
    assert_eq!(room.recount(0, 13, 10), 13);
    assert_eq!(room.figures().0, 13);
    assert_eq!(room.recount(13, 4, 0), 4);
    assert_eq!(room.figures().0, 4);
    assert_eq!(room.recount(4, 4, 0), 4);
    assert_eq!(room.figures(), (4, 13, 0));
}

#[test]
fn room_is_given_in_order_and_nobody_is_overtaken() {
    let room = room(1);
    assert!(enter(&room));
    let (_first, first) = wait(&room);
    let (_second, second) = wait(&room);
    assert!(first.try_recv().is_err());
    room.leave(1);
    let permit = first.try_recv().unwrap();
    assert!(second.try_recv().is_err());
    assert!(!enter(&room), "the place is counted already");
    assert!(permit.use_in(&room).is_none());
    assert_eq!(room.figures().0, 1);
    room.leave(1);
    drop(second.try_recv().unwrap());
    assert!(enter(&room));
}

#[test]
fn a_permit_that_nobody_uses_goes_to_the_next() {
    let room = room(1);
    assert!(enter(&room));
    let (first_in_line, first) = wait(&room);
    let (second_in_line, second) = wait(&room);
    let (_third, third) = wait(&room);
    drop(first);
    drop(second_in_line);
    room.leave(1);
    assert!(second.try_recv().is_err(), "it had given up");
    assert!(third.try_recv().is_ok(), "the first one was dead");
    drop(first_in_line);
}

#[test]
fn many_that_are_gone_do_not_lead_deep() {
    let room = room(1);
    assert!(enter(&room));
    let gone: Vec<InLine> = (0..100_000).map(|_| wait(&room).0).collect();
    room.leave(1);
    assert_eq!(room.figures().0, 0);
    // A waiter that was notified is no longer in the line: giving it up is cheap.
    drop(gone);
}

#[test]
fn a_permit_for_a_room_that_is_gone_counts_where_the_message_went() {
    let (old, heir) = (room(1), room(1));
    assert!(enter(&old));
    let (_in_line, told) = wait(&old);
    old.close();
    let permit = told.try_recv().unwrap();
    assert!(enter(&old), "a closed one refuses nobody");
    drop(permit.use_in(&heir));
    assert_eq!(heir.figures().0, 1);
}

#[test]
fn one_that_is_open_again_has_its_bound_again() {
    let room = room(1);
    room.close();
    assert!((0..3).all(|_| enter(&room)) && room.enter_some(2) == 2);
    room.open();
    assert!(!enter(&room) && room.enter_some(2) == 0);
    let (_in_line, told) = wait(&room);
    room.leave(4);
    assert!(told.try_recv().is_err(), "one is still there");
    room.leave(1);
    assert!(told.try_recv().is_ok());
}
