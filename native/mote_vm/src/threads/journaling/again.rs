//! Running journals again: all of them, as a durable machine does that starts, or to a place and on from there, as a replay does.
//!
//! Invariants:
//! 1. Between two calls the machine is exactly at the place that the first one has returned: it is mute and paused, so nothing else
//!    runs a turn or lets anything in.
//! 2. A mark and the image of the same moment are all that a machine needs to go on from there: what turns depend on is in one of the two.
//! 3. Looking at turns changes none of them.
use super::figures;
use crate::boundary::journal::file::{JournalEntry, JournalError, JournalFile, BEFORE};
use crate::boundary::journal::Journal;
use crate::code::program::BehaviourCode;
use crate::terms::prim::random::Random;
use crate::threads::run_turn::Verdict;
use crate::threads::shared::Machine;
use crate::threads::thread::{Dispatch, BATCH};
use crate::turns::queue::Event;
use crate::values::handles::Key;
use crate::values::term::Term;

/// Lets one thing enter that was noted down. Returns what is wrong with it.
pub(crate) type EnterAgain = Box<dyn Fn(&Machine, &[u8]) -> Result<(), String> + Send>;

/// A place in a recording: so many turns have run, and so many entries have entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReplayPlace {
    /// Turns since the journal begins.
    pub turn: u64,
    /// Entries of the journal.
    pub entry: usize,
}

/// The goal of a run: it ends at a place that has both, or after `most` turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplayGoal {
    /// The turns of that place.
    pub turn: u64,
    /// The entries of that place.
    pub entry: usize,
    /// The turns after which to stop in any case.
    pub most: u64,
}

/// The rest of the state that a machine needs to go on from an image of a moment in a journal (invariant 2), as words.
pub type ReplayMark = [u64; 12];

/// The turn to look for: the last one that is such a one.
pub enum ReplaySearch {
    /// It has sent a message that is wanted.
    Sent(Box<dyn Fn(Term<'_>) -> bool + Send>),
    /// The actor of that key has become.
    Became(Key),
}

/// The place that a replay has reached.
pub struct Replayed {
    /// The place.
    pub place: ReplayPlace,
    /// The place is the goal, or the end of the recording.
    pub is_over: bool,
    /// The number of the last turn that was looked for.
    pub found: Option<u64>,
    /// The mark for an image of this moment.
    pub mark: ReplayMark,
}

/// A search, and what it has found so far.
struct Searching {
    search: ReplaySearch,
    found: Option<u64>,
}

impl ReplayGoal {
    /// The end.
    const END: ReplayGoal = ReplayGoal {
        turn: u64::MAX,
        entry: usize::MAX,
        most: u64::MAX,
    };
}

impl Dispatch {
    /// Runs journals again, one after the other. Returns the place of the one that is wrong, and what is.
    pub(crate) fn run_again(
        &mut self,
        journal: &Journal,
        journals: &[JournalFile],
        enter: &EnterAgain,
    ) -> Result<(), (usize, JournalError)> {
        self.drain();
        for (n, file) in journals.iter().enumerate() {
            is_next(file, n.checked_sub(1).map(|n| &journals[n])).map_err(|wrong| (n, wrong))?;
            journal.begin_mute(file.header);
            self.begin_journal(&file.header);
            let end = ReplayGoal {
                turn: 0,
                ..ReplayGoal::END
            };
            self.enter_until(journal, file, &mut 0, end, enter, &mut None)
                .map_err(|wrong| (n, wrong))?;
        }
        if let Some(last) = journals.last() {
            self.run_tail(last, u64::MAX, &mut None);
        }
        Ok(())
    }

    /// Goes on with a journal that is run again, from the entry of that number. Returns where that has led.
    pub(crate) fn replay(
        &mut self,
        journal: &Journal,
        file: &JournalFile,
        mut entry: usize,
        goal: ReplayGoal,
        (enter, search): (&EnterAgain, Option<ReplaySearch>),
    ) -> Result<Replayed, JournalError> {
        self.drain();
        let mut searching = search.map(|search| Searching {
            search,
            found: None,
        });
        self.enter_until(journal, file, &mut entry, goal, enter, &mut searching)?;
        if entry == file.entries.len() {
            self.run_tail(file, goal.turn.min(goal.most), &mut searching);
        }
        let turn = self.replayed();
        let is_all = entry == file.entries.len() && turn < goal.most;
        Ok(Replayed {
            place: ReplayPlace { turn, entry },
            is_over: is_all || turn >= goal.turn && entry >= goal.entry,
            found: searching.and_then(|searching| searching.found),
            mark: self.mark(journal, entry),
        })
    }

    /// Lets entries in, and runs the turns before each of them, up to a goal; then those that are before the next entry.
    fn enter_until(
        &mut self,
        journal: &Journal,
        file: &JournalFile,
        next: &mut usize,
        goal: ReplayGoal,
        enter: &EnterAgain,
        searching: &mut Option<Searching>,
    ) -> Result<(), JournalError> {
        while let Some(entry) = file.entries.get(*next) {
            let wrong = |problem: String| JournalError::Wrong {
                offset: entry.offset,
                problem,
            };
            let is_due = *next < goal.entry || entry.place.position < goal.turn;
            let until = if is_due {
                entry.place.position
            } else {
                goal.turn
            };
            self.run_until(until.min(goal.most), searching)
                .map_err(wrong)?;
            if !is_due || entry.place.position >= goal.most {
                break;
            }
            self.let_in(journal, entry, enter).map_err(wrong)?;
            *next += 1;
        }
        Ok(())
    }

    /// Lets an entry in, at its place.
    fn let_in(
        &mut self,
        journal: &Journal,
        entry: &JournalEntry,
        enter: &EnterAgain,
    ) -> Result<(), String> {
        let machine = self.context.machine.clone();
        if self.journal_place(journal) != entry.place {
            return Err(
                "the machine has not done the same as before: what it does depends on something that is not in its journal"
                    .to_string(),
            );
        }
        machine.clock().hold(entry.moment);
        if self.context.station.timers.next() <= entry.moment {
            self.fire();
        }
        let mut records = entry.records.iter();
        journal.enter_again(|| records.try_for_each(|record| enter(&machine, record)))?;
        journal.take(None, |released, _| {
            machine.handles().forget(released);
            true
        });
        self.drain();
        Ok(())
    }

    /// Runs the turns that may have run after the last entry, and told the outside something (journaling.rs, invariant 4), but not
    /// beyond `goal`.
    fn run_tail(&mut self, file: &JournalFile, goal: u64, searching: &mut Option<Searching>) {
        let most = goal.min(file.turns() + super::MOST_SINCE + BATCH);
        while self.replayed() < most
            && !self.turn.queue.is_empty()
            && !self.context.machine.is_stopping()
        {
            self.run_some(most, searching);
        }
    }

    /// Runs turns until so many have run since the journal began.
    fn run_until(&mut self, goal: u64, searching: &mut Option<Searching>) -> Result<(), String> {
        while self.replayed() < goal {
            if self.context.machine.is_stopping() {
                return Err("the machine was stopped".to_string());
            }
            if self.turn.queue.is_empty() {
                let missing = goal - self.replayed();
                return Err(format!(
                    "the machine has nothing to do where it ran {missing} turns more before: what it does depends on something that \
                     is not in its journal"
                ));
            }
            self.run_some(goal, searching);
        }
        Ok(())
    }

    /// Turns since the journal began.
    fn replayed(&self) -> u64 {
        // What a mark has counted can be more than this thread has.
        self.turn.counts.turns.wrapping_sub(self.journaled.turns)
    }

    /// Runs turns for a batch, but not beyond `goal`.
    fn run_some(&mut self, goal: u64, searching: &mut Option<Searching>) {
        self.turn.queue.forgive();
        if !self.starved.awaits_collection() {
            // Each turn counts as one at least.
            let batch = self.load.batch.min(goal - self.replayed());
            let batch = std::mem::replace(&mut self.load.batch, batch);
            if searching.is_some() || self.is_traced() {
                self.run_searched_batch(searching);
            } else {
                self.run_plain_batch();
            }
            self.load.batch = batch;
        }
        self.turn.actor = std::ptr::null();
        self.keep_house();
        self.wait_for_memory();
    }

    /// Runs turns for a batch, and looks at each of them.
    #[cold]
    fn run_searched_batch(&mut self, searching: &mut Option<Searching>) {
        let traces = self.context.machine.attention().traces();
        let goal = self.turn.counts.turns + self.load.batch;
        while self.turn.counts.turns < goal && !self.starved.awaits_collection() {
            let Some(event) = self.turn.queue.pop() else {
                break;
            };
            if !self.may_run(event) {
                continue;
            }
            match searching {
                Some(searching) => {
                    self.turn_seen_by(event, |thread, _: &BehaviourCode, verdict| {
                        searching.look(thread, event, verdict);
                    });
                }
                None => {
                    self.watched_turn(event, &traces);
                }
            }
        }
    }

    /// Returns the mark for an image of this moment.
    fn mark(&self, journal: &Journal, entry: usize) -> ReplayMark {
        let (now, then) = (figures(&self.turn.counts), figures(&self.journaled));
        let done: [u64; 4] = std::array::from_fn(|n| now[n].wrapping_sub(then[n]));
        let [turns, sends, creates, becomes] = done;
        let [a, b, c, d] = self.turn.random.state();
        let header = journal.header();
        let moment = self.context.machine.clock().now();
        let (told, named, entry) = (header.told, header.named, entry as u64);
        [
            turns, sends, creates, becomes, told, named, moment, entry, a, b, c, d,
        ]
    }

    /// Begins a journal that is run again: in its image, or in one that was made on the way, with its mark. Returns the entry that is
    /// the next one.
    pub(crate) fn begin_replay(
        &mut self,
        journal: &Journal,
        file: &JournalFile,
        mark: Option<ReplayMark>,
    ) -> usize {
        self.drain();
        journal.begin_replay(file.header);
        self.begin_journal(&file.header);
        let Some(mark) = mark else {
            return 0;
        };
        let [turns, sends, creates, becomes, told, named, moment, entry, random @ ..] = mark;
        let counts = &mut self.journaled;
        counts.turns = counts.turns.wrapping_sub(turns);
        counts.sends = counts.sends.wrapping_sub(sends);
        counts.creates = counts.creates.wrapping_sub(creates);
        counts.becomes = counts.becomes.wrapping_sub(becomes);
        journal.go_on_from(told, named);
        self.turn.random = Random::of(random);
        self.context.machine.clock().hold(moment);
        entry as usize
    }
}

impl Searching {
    /// Looks at a turn that has run and is not committed yet.
    fn look(&mut self, thread: &Dispatch, event: Event, verdict: &Verdict) {
        if !matches!(verdict, Verdict::Commits) {
            return;
        }
        let turn = &thread.turn;
        let is_wanted = match &self.search {
            ReplaySearch::Became(key) => {
                turn.becoming().is_some()
                    && thread.context.machine.handles().is_of(*key, event.target)
            }
            ReplaySearch::Sent(is_wanted) => {
                let mut found = false;
                turn.queue.each_since(&turn.savepoint.queue, |sent| {
                    found |= is_wanted(Term::new(sent.message));
                });
                let outgoing = turn.at_commit.outgoing.iter();
                let outside = || outgoing.map(|sent| sent.message);
                found || outside().any(|message| is_wanted(Term::new(message)))
            }
        };
        if is_wanted {
            self.found = Some(thread.replayed());
        }
    }
}

/// Returns what is wrong if the journal before does not end where this one goes on.
fn is_next(file: &JournalFile, before: Option<&JournalFile>) -> Result<(), JournalError> {
    let (there, wanted) = (before.map(|f| f.entries.len() as u64), file.header.before);
    match there {
        Some(there) if there != wanted => Err(JournalError::Wrong {
            offset: BEFORE,
            problem: format!(
                "it goes on after {wanted} entries of the journal before, which has {there}"
            ),
        }),
        _ => Ok(()),
    }
}
