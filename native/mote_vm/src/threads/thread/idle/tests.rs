//! Tests of what a thread without events does, and when it sleeps.
use super::*;
use crate::testing::still::Still;
use crate::threads::inbox::Entry;
use crate::threads::thread_context::ThreadContext;

/// Time after which something is wrong.
const LONG: Duration = Duration::from_secs(20);

fn await_that(happens: impl Fn() -> bool) {
    let start = Instant::now();
    while !happens() {
        assert!(start.elapsed() < LONG);
        std::thread::yield_now();
    }
}

/// Looks for work while others act, given the own station and those of the siblings: whether something came, and how
/// many shares were counted.
fn looked_while(
    still: &mut Still,
    act: impl FnOnce(&Station, &[Arc<Station>]) + Send,
) -> (bool, u64) {
    let context = still.thread.context.clone();
    let (asker, siblings) = (&context.station, &context.sponsor.stations[1..]);
    let came = std::thread::scope(|scope| {
        scope.spawn(|| act(asker, siblings));
        still.thread.look_for_work(LONG)
    });
    (came, still.thread.turn.counts.shares_taken)
}

#[test]
fn a_request_stands_before_there_is_anything_to_be_had() {
    let shared = || {
        looked_while(&mut Still::new(2), |asker, siblings| {
            await_that(|| siblings[0].request.answer() == Some(asker.number));
            assert!(asker.push(Entry::Alarm).is_ok());
        })
    };
    let start = Instant::now();
    let mut looked = (true, 0);
    // The system may hold up the answering thread for longer than the asker waits for its share.
    while looked == (true, 0) {
        assert!(start.elapsed() < LONG, "no share ever came");
        looked = shared();
    }
    assert_eq!(looked, (true, 1));
}

#[test]
fn who_is_answered_and_given_nothing_asks_again() {
    let looked = looked_while(&mut Still::new(2), |asker, siblings| {
        for _ in 0..2 {
            await_that(|| siblings[0].request.answer() == Some(asker.number));
        }
        await_that(|| siblings[0].request.is_by(asker.number));
        // From elsewhere: no share.
        assert!(asker.push(Entry::Alarm).is_ok());
    });
    assert_eq!(looked, (true, 0));
}

#[test]
fn who_has_asked_one_for_a_moment_asks_another_that_has_more_by_then() {
    let looked = looked_while(&mut Still::new(3), |asker, siblings| {
        for (has_none, has_some) in [(0, 1), (1, 0)] {
            siblings[has_none].backlog.store(0, Relaxed);
            siblings[has_some].backlog.store(1, Relaxed);
            await_that(|| siblings[has_some].request.is_by(asker.number));
        }
        assert!(asker.push(Entry::Alarm).is_ok());
    });
    assert_eq!(looked, (true, 0));
}

#[test]
fn one_that_has_something_is_asked_with_patience() {
    let mut still = Still::new(2);
    let sibling = still.thread.context.sponsor.stations[1].clone();
    sibling.backlog.store(WORTH_ASKING, Relaxed);
    let start = Instant::now();
    assert!(!still.thread.look_for_work(Duration::ZERO));
    assert!(start.elapsed() >= FOR_AN_ANSWER);
    assert_eq!(sibling.request.answer(), None);
}

#[test]
fn who_was_woken_with_the_lead_waits_until_that_has_taken_in_what_came() {
    let mut still = Still::new(2);
    let lead = still.thread.context.sponsor.lead().clone();
    assert!(lead.push(Entry::Alarm).is_ok());
    assert_eq!(still.thread.patience(), SPIN);
    still.thread.idling.called = true;
    assert_eq!(still.thread.patience(), LONG_SPIN);
    still.thread.drain();
    assert_eq!(still.thread.patience(), SPIN);
}

#[test]
fn who_has_asked_in_vain_withdraws() {
    let mut still = Still::new(2);
    assert!(!still.thread.look_for_work(SPIN));
    assert_eq!(still.thread.turn.counts.shares_taken, 0);
    let stations = &still.thread.context.sponsor.stations;
    assert_eq!(stations[1].request.answer(), None);
}

#[test]
fn who_sleeps_for_a_moment_without_work_has_rested() {
    let mut still = Still::new(2);
    still.thread.context.machine.quiescence().add(1);
    still.thread.sleep(Some(REST));
    assert!(still.thread.idling.rests);
    let mut sleeps_shortly = || {
        still.thread.sleep(Some(Duration::ZERO));
        !still.thread.idling.rests
    };
    // One of these does not take as long as a rest, whatever else runs.
    assert!((0..1_000).any(|_| sleeps_shortly()));
    still.machine.quiescence().done(1);
}

/// Returns whether a thread that sleeps until `wake` wakes it has rested.
fn rests_until(wake: impl FnOnce(&ThreadContext) + Send) -> bool {
    let mut still = Still::new(2);
    let context = still.thread.context.clone();
    let quiescence = context.machine.quiescence();
    quiescence.add(1);
    context.station.parker.open(false, None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            await_that(|| quiescence.is_quiet());
            std::thread::sleep(REST);
            wake(&context);
        });
        still.thread.sleep(Some(LONG));
    });
    context.station.parker.close();
    quiescence.done(1);
    still.thread.idling.rests
}

#[test]
fn who_was_stood_in_for_has_not_rested() {
    assert!(!rests_until(|context| {
        let stand_in = context.station.presence.stand_in();
        let thread = Dispatch::shown_by(&context.station).expect("a thread that sleeps");
        // SAFETY: it sleeps, and nobody else stands in.
        unsafe { (*thread).turn.counts.stand_ins += stand_in.iter().count() as u64 };
        drop(stand_in);
        context.station.unpark_if_asleep();
    }));
}

#[test]
fn who_is_woken_for_something_rests_no_longer() {
    assert!(!rests_until(|context| {
        assert!(context.station.push(Entry::Alarm).is_ok());
    }));
}

/// It can do nothing about what is to be given back before the image is written, however long the machine has rested.
#[test]
fn a_thread_sleeps_while_an_image_is_written() {
    let still = Still::new(1);
    let pool = still.machine.pool();
    pool.reserve.collected(1 << 30, false);
    let start = Instant::now();
    while still.thread.may_sleep() != Some(Duration::ZERO) {
        assert!(start.elapsed() < LONG, "it never rests for long");
        pool.reserve.collected(1 << 30, false);
        std::thread::sleep(NAP);
    }
    let gc = still.machine.gc();
    gc.set_phase(Phase::Saving);
    let naps = still.thread.may_sleep();
    gc.set_phase(Phase::None);
    assert_eq!(naps, Some(NAP));
}
