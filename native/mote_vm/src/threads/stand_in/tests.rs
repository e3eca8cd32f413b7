//! What a stand-in may forget when it goes, and what not (invariant 5).
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
