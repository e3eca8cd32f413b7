//! The parker in every order of its steps. The system that bars threads from cores is modelled, too (cores.rs): the model
//! fails if a thread is barred twice, ends while it is barred, or is barred after its end.
use super::*;
use crate::base::sync::{AcqRel, Acquire, AtomicUsize};
use loom::sync::Arc;
use loom::thread;

struct ParkerScene {
    parker: Parker,
    cores: &'static Cores,
    /// Work still to be done.
    work: AtomicUsize,
}

/// The cores are made outside of the model, whose threads have little stack.
fn shared(cores: &'static Cores) -> Arc<ParkerScene> {
    Arc::new(ParkerScene {
        parker: Parker::among(cores),
        cores,
        work: AtomicUsize::new(0),
    })
}

/// Says what there is to do, then wakes the thread.
fn wake(shared: &ParkerScene, waker: Waker) {
    shared.work.fetch_add(1, AcqRel);
    shared.parker.unpark(waker);
}

/// Sleeps until so much was to do, for a moment at a time or as long as it takes. Awake it is never barred.
fn work(shared: &ParkerScene, much: usize, at_most: Option<Duration>) {
    while shared.work.load(Acquire) < much {
        shared.parker.park(at_most);
        assert!(!cores::is_barred());
    }
}

/// The thread that sleeps, and how it ends.
fn sleeper(shared: &ParkerScene, bound: bool, much: usize, at_most: Option<Duration>) {
    shared.parker.open(bound, None);
    work(shared, much, at_most);
    // It works, and somebody may still want to wake it.
    thread::yield_now();
    assert!(!cores::is_barred());
    shared.parker.close();
    cores::end();
}

/// Two wake a thread that sleeps, wakes and ends: it wakes for both (or the model would not end), runs where it may,
/// and is counted as coming no longer than it does.
fn woken_by_two(bound: bool, at_most: Option<Duration>) {
    let cores = Cores::of_a_test();
    loom::model(move || {
        let shared = shared(cores);
        let other = shared.clone();
        let asleep = thread::spawn(move || sleeper(&other, bound, 2, at_most));
        let other = shared.clone();
        let waker = thread::spawn(move || wake(&other, Waker::GoesOn));
        wake(&shared, Waker::GoesOn);
        waker.join().unwrap();
        asleep.join().unwrap();
        assert_eq!(shared.cores.coming(), 0);
    });
}

#[test]
fn whoever_wakes_runs_where_it_may() {
    woken_by_two(false, None);
}

#[test]
fn so_does_one_that_wakes_by_itself() {
    woken_by_two(false, Some(Duration::from_millis(1)));
}

#[test]
fn a_bound_thread_is_never_barred() {
    let cores = Cores::of_a_test();
    loom::model(|| {
        let shared = shared(cores);
        let other = shared.clone();
        let asleep = thread::spawn(move || sleeper(&other, true, 1, None));
        wake(&shared, Waker::GoesOn);
        // Nobody was barred, so nobody comes.
        assert_eq!(shared.cores.coming(), 0);
        asleep.join().unwrap();
    });
}
