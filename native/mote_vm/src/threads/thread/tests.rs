use super::*;
use crate::testing::still::Still;
use crate::threads::core_balance::CoreBalance;
use crate::threads::core_balance::Cores;
use crate::threads::inbox::Entry;
use crate::values::actor::BehaviourId;

#[test]
fn after_a_long_turn_others_are_expected() {
    let mut still = Still::new(2);
    let batch = TurnBatch {
        turns: 1,
        units: LONG,
        last: LONG,
        queued: 3,
    };
    let took = 1_280;
    let backlog = still.thread.estimate(&batch, Duration::from_nanos(took));
    // Nothing waits, but what comes may be as long.
    assert_eq!((backlog, still.thread.turn.fuel.long_turn), (0, took));
}

#[test]
fn whoever_runs_a_turn_rests_no_longer() {
    for turns in [0, 1] {
        let mut still = Still::new(1);
        still.thread.stand_still(idle::wake);
        let turn = &mut still.thread.turn;
        for _ in 0..turns {
            let actor = turn.create(BehaviourId::SINK, Value::NIL).address_pointer();
            turn.queue.push(actor, Value::NIL);
        }
        turn.tidy_up();
        still.thread.idling.rests = true;
        let end = Entry::Task(task(|thread| thread.context.machine.stop()));
        assert!(still.thread.context.station.push(end).is_ok());
        still.thread.dispatch();
        assert_eq!(still.thread.idling.rests, turns == 0);
        still.machine.quiescence().done(1);
    }
}

#[test]
fn a_thread_that_is_awake_is_counted_on_a_core() {
    let mut still = Still::new(1);
    let all = Cores::of_a_test();
    still.thread.idling.core = CoreBalance::among(all);
    still.thread.stand_still(idle::wake);
    let station = still.thread.context.station.clone();
    let end = Entry::Task(task(|thread| thread.context.machine.stop()));
    assert!(station.push(end).is_ok());
    still.thread.dispatch();
    // Where the system does not say which core that is, on none.
    let known = cores::here() != cores::NOWHERE;
    assert_eq!((all.all_awake(), all.coming()), (known as u32, 0));
    still.thread.sleep(Some(Duration::ZERO));
    assert_eq!(all.all_awake(), 0);
    still.machine.quiescence().done(1);
}
