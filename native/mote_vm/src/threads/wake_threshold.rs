//! The amount of waiting work that it takes to wake a sleeping sibling: each sponsor learns it from the outcome of earlier wakings.
//!
//! Waking a thread holds up the waker for some microseconds, and the sleeper comes some tens of microseconds later.
//! It cannot be known whether anything is left for it then: a tree that has grown for thirty microseconds may be done after forty
//! or after forty thousand. But loads repeat themselves. So the sleeper records, before it sleeps again, for how long it had
//! turns to run. If the waking was useful, less work is enough the next time: a load for which waking always pays wakes its
//! sibling at once. If it was useless, more work is needed the next time: a load for which waking never pays is not held up for
//! long.
//!
//! A useful waking gains several times what a useless one costs, so it counts for more: with a mixed load one in four has
//! to be useful. A waking that comes late because the system is busy does little harm.
//!
//! Where wakings have always paid, a sender from outside wakes one sibling of a sleeping sponsor together with its lead
//! (sponsor.rs): both arrive at the same time, instead of the sibling arriving as much later again.
use crate::base::sync::{AtomicU64, Relaxed};

/// Nanoseconds of waiting work: at first, and the bounds within which it is learnt.
const AT_FIRST: u64 = 60_000;
const SMALLEST: u64 = 4_000;
const GREATEST: u64 = 1_000_000;
/// About what a waking costs the waker; one that was of use made up for that several times.
const COST: u64 = 10_000;
const USE: u64 = 4 * COST;

/// The threshold that a sponsor has learnt. A hint: a lesson that gets lost between two threads is learnt the next time.
pub(crate) struct WakeThreshold(AtomicU64);

impl WakeThreshold {
    pub(crate) fn new() -> WakeThreshold {
        WakeThreshold(AtomicU64::new(AT_FIRST))
    }

    /// Returns whether `backlog` nanoseconds of waiting work are enough.
    #[inline(always)]
    pub(crate) fn pays(&self, backlog: u64) -> bool {
        backlog >= self.0.load(Relaxed)
    }

    /// Returns whether the last wakings were all of use, until the threshold could not be lower.
    pub(crate) fn has_always_paid(&self) -> bool {
        self.0.load(Relaxed) == SMALLEST
    }

    /// Learns from a thread that was woken for work, has run turns for `worked` nanoseconds, and goes back to sleep.
    pub(crate) fn came_to(&self, worked: u64) {
        let worth = self.0.load(Relaxed);
        let learnt = match worked {
            USE.. => worth / 2,
            COST..USE => worth,
            _ => worth + worth / 4,
        };
        self.0.store(learnt.clamp(SMALLEST, GREATEST), Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::testing::still::Still;
    use crate::values::actor::BehaviourId;
    use crate::values::value::Value;
    use std::time::{Duration, Instant};

    /// Longest time that anything may take before the test gives up.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// Returns the waiting work that is enough after wakings with these results.
    fn after(worked: impl IntoIterator<Item = u64>) -> u64 {
        let worth = WakeThreshold::new();
        worked.into_iter().for_each(|worked| worth.came_to(worked));
        let enough = worth.0.load(Relaxed);
        assert!(worth.pays(enough) && !worth.pays(enough - 1));
        enough
    }

    /// Returns whether wakings have always paid after `useful` useful ones and then these.
    fn have_always_paid<const N: usize>(useful: usize, then: [u64; N]) -> bool {
        let worth = WakeThreshold::new();
        (0..useful).for_each(|_| worth.came_to(USE));
        then.into_iter().for_each(|worked| worth.came_to(worked));
        worth.has_always_paid()
    }

    #[test]
    fn a_load_that_always_pays_wakes_at_once() {
        assert_eq!(after([USE; 3]), AT_FIRST / 8);
        assert_eq!(after([u64::MAX; 100]), SMALLEST);
        assert_eq!(
            [3, 4].map(|times| have_always_paid(times, [])),
            [false, true]
        );
        assert!(!have_always_paid(100, [0]) && have_always_paid(100, [0, USE]));
    }

    #[test]
    fn a_load_that_never_pays_stops_waking() {
        assert_eq!(after([0]), AT_FIRST / 4 * 5);
        assert_eq!(after([COST - 1; 100]), GREATEST);
    }

    #[test]
    fn little_use_says_nothing() {
        assert_eq!(after([COST, USE - 1]), AT_FIRST);
    }

    #[test]
    fn of_a_mixed_load_one_waking_in_four_has_to_be_of_use() {
        let mix = |of: usize| (0..40 * of).map(move |at| if at % of == 0 { USE } else { 0 });
        assert!(after(mix(4)) < AT_FIRST);
        assert!(after(mix(5)) > AT_FIRST);
    }

    /// Woken as by a sibling with work, which has none: the thread itself says so.
    #[test]
    fn a_thread_says_what_its_waking_came_to() {
        let still = Still::new(2);
        let sponsors = still.machine.sponsors();
        let sponsor = sponsors.first();
        let sleeper = &sponsor.stations[1];
        let start = Instant::now();
        while sponsor.worth_waking.pays(AT_FIRST) {
            assert!(start.elapsed() < PATIENCE, "nothing was learnt");
            if sleeper.presence.is_asleep() {
                sleeper.waking.store(true, Relaxed);
                sleeper.wake();
            }
            std::thread::yield_now();
        }
    }

    /// Returns whether the second thread of a sponsor is woken when something is sent, after `useful` wakings of it that were
    /// of use. Neither thread runs.
    fn send_wakes_sibling(useful: usize, send: impl FnOnce(&mut Still)) -> bool {
        let mut still = Still::new(2);
        let sponsor = still.thread.context.sponsor.clone();
        (0..useful).for_each(|_| sponsor.worth_waking.came_to(USE));
        send(&mut still);
        let sibling = &sponsor.stations[1];
        let woken = sibling.waking.load(Relaxed);
        assert_eq!(sibling.summoned.load(Relaxed), woken);
        woken
    }

    fn sender_wakes_sibling(useful: usize, wakes: bool, lead_is_awake: bool) -> bool {
        send_wakes_sibling(useful, |still| {
            let sponsor = &still.thread.context.sponsor;
            if lead_is_awake {
                sponsor.lead().presence.wake();
            }
            sponsor.entered(sponsor.lead(), wakes);
        })
    }

    /// A batch with one message.
    fn send_batch(still: &mut Still) {
        let created = still.thread.turn.create(BehaviourId::SINK, Value::NIL);
        let handles = still.thread.context.machine.handles();
        let key = handles.acquire(created.address_pointer(), None);
        let (mut letters, mut builder) = still.machine.letters();
        letters.address(handles.hold(key).expect("held"));
        assert!(builder.integer(0));
        letters.end(&builder);
        let mut batch = letters.seal(builder);
        let _held = batch.take_held();
        let sponsor = &still.thread.context.sponsor;
        let entered = sponsor.push_batch(sponsor.lead(), batch);
        assert!(entered.is_ok_and(|entered| entered == (1, None)));
    }

    #[test]
    fn who_sends_a_batch_wakes_a_sibling_where_that_has_always_paid() {
        assert!(send_wakes_sibling(4, send_batch));
        assert!(!send_wakes_sibling(3, send_batch));
    }

    #[test]
    fn who_sends_to_a_sponsor_that_sleeps_wakes_a_sibling_where_that_has_always_paid() {
        assert!(sender_wakes_sibling(4, true, false));
        assert!(!sender_wakes_sibling(3, true, false));
        // Another sender wakes them; or nobody has to.
        assert!(!sender_wakes_sibling(4, false, false));
        assert!(!sender_wakes_sibling(4, true, true));
    }

    #[test]
    fn what_was_learnt_is_unlearnt() {
        assert_eq!(after([0; 100].into_iter().chain([USE; 100])), SMALLEST);
        assert_eq!(after([USE; 100].into_iter().chain([0; 100])), GREATEST);
    }
}
