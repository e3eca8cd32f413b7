//! In which order messages are done that came before an actor was held, meanwhile, and after.
use super::*;
use crate::boundary::parcel::Builder;
use crate::boundary::turn_away::{Effect, Effects, Outcome, TurnEnd};
use crate::testing::still::Still;
use crate::threads::away::Away;

/// An actor that is held and has kept the message 1.
struct Held {
    actor: &'static Actor,
    was: BehaviourId,
    hold: Hold,
}

impl Held {
    fn on(thread: &mut Dispatch) -> Held {
        let program = thread.turn.around.program.clone();
        let (was, held) = (program.publish_unsafe(), program.publish_capturing(HELD));
        let heap = &mut thread.turn.heap;
        let captures = [
            heap.tuple(0, |_| Value::NIL),
            Value::fixnum(was.0.into()),
            Value::fixnum(7),
            heap.cons(Value::fixnum(1), Value::EMPTY_LIST),
        ];
        let state = heap.captures(4, |at| captures[at]).expect("memory");
        let actor = thread.turn.create(held, state).address_pointer();
        let hold = Hold {
            held: BehaviourVersion { id: held, program },
            holder: 7,
        };
        Held {
            // SAFETY: made just now, and never collected.
            actor: unsafe { &*actor },
            was,
            hold,
        }
    }

    fn numbered(&self, n: i64) -> Event {
        Event {
            target: self.actor,
            message: Value::fixnum(n),
        }
    }

    fn goes_on(&self, thread: &mut Dispatch) {
        let (target, hold) = (Target(self.actor), self.hold.clone());
        thread.go_on(
            target,
            hold,
            GoesOn::Back,
            Box::new(|_, gone| assert_eq!(gone, Ok(()))),
        );
    }
}

fn numbers(events: impl IntoIterator<Item = Event>) -> Vec<i64> {
    let events = events.into_iter();
    events.map(|event| event.message.fixnum_value()).collect()
}

fn queued(thread: &mut Dispatch) -> Vec<i64> {
    numbers(std::iter::from_fn(|| thread.turn.queue.pop()))
}

#[test]
fn who_goes_on_is_not_held_again_by_a_turn_that_was_away() {
    let mut still = Still::new(1);
    let quota = still.machine.pool().quota.clone();
    let thread = &mut still.thread;
    let held = Held::on(thread);
    // The actor stashes a message outside, and another one waits for it.
    thread.context.machine.quiescence().goes_away();
    let mut away = Away::new(1, quota);
    away.leaves(1, held.numbered(2));
    assert!(away.line_up(held.numbered(3)));
    thread.away = Some(Box::new(away));
    held.goes_on(thread);
    let mut values = Builder::new();
    values.tuple(4);
    values.tuple(0);
    assert!(values.integer(held.was.0.into()) && values.integer(7));
    values.list(2);
    assert!(values.integer(2) && values.integer(1));
    values.empty_list();
    let effects = Effects {
        steps: vec![Effect::Become(Some(held.hold.held.clone()), 4)],
        values: Some(values.finish()),
    };
    let outcome = Outcome::Done(effects);
    thread
        .duties
        .ended
        .push_back(TurnEnd { number: 1, outcome });
    thread.run_tasks();
    assert!(held.actor.header().behaviour() == held.was);
    assert!(!thread.is_anybody_away());
    assert_eq!(queued(thread), [1, 2, 3]);
}

#[test]
fn what_was_kept_comes_before_what_waits_for_the_actor_to_go_elsewhere() {
    let mut still = Still::new(2);
    let thread = &mut still.thread;
    let held = Held::on(thread);
    let wanted = held.numbered(2);
    let asker = thread.context.sponsor.stations[1].number;
    thread.turn.queue.push(wanted.target, wanted.message);
    thread.ask_from(wanted, asker);
    thread.run_batch();
    held.goes_on(thread);
    thread.run_batch();
    assert_eq!(numbers(thread.turn.leaving.wanted.clone()), [1, 2]);
}

#[test]
fn what_was_kept_comes_before_what_the_actor_brings_from_elsewhere() {
    let mut still = Still::new(2);
    let thread = &mut still.thread;
    let held = Held::on(thread);
    let station = thread.context.station.clone();
    // Another thread gives it to this one, with a message, before it is told that the actor goes on.
    let given = station.inbox.push_given(vec![held.numbered(2)], |_| {
        held.actor.give(station.number, None);
    });
    assert!(given.is_ok());
    held.goes_on(thread);
    // What it brings is taken in after everything else that comes at once.
    thread.drain();
    thread.drain();
    assert!(held.actor.header().behaviour() == held.was);
    assert_eq!(queued(thread), [1, 2]);
}
