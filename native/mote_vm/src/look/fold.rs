//! Shows the actors of a machine as of their last commits, some at a time, without stopping anything.
//!
//! A fold walks through the actors that the last collection has found alive (heap/residents.rs), slice by slice. Of a slice each thread
//! shows what it owns, or a caller does that stands in for it (peek.rs).
//!
//! Invariants:
//! 1. Whoever shows an actor is the thread that owns it, between two turns, or stands in for it; or everything stands still. So each
//!    state is a whole one.
//! 2. What was shown, or is not wanted, is struck off the slice, and the fold goes on behind it only when nothing is left. So an actor that
//!    is alive from before the first slice until the end is shown once, also if it changes its owner meanwhile; and none twice.
//! 3. A part takes a moment. A state that would not is left out: its actor is shown without.
//! 4. A place is only a hint: what it says is compared with the marks before anything is read there.
use super::peek::SeenState;
use super::survey::Survey;
use crate::base::atom::Atom;
use crate::base::ids::ThreadNumber;
use crate::code::program::Program;
use crate::heap::residents::ResidentSlice;
use crate::platform::prefetch::prefetch;
use crate::threads::inbox::Entry;
use crate::threads::shared::Machine;
use crate::threads::stand_in::{wake_if_needed, MOST_SENT};
use crate::threads::station::Station;
use crate::threads::thread::{self, Dispatch};
use crate::values::actor::{Actor, BehaviourId, Header};
use crate::values::term::ActorRef;
use smallvec::SmallVec;
use std::sync::Arc;

/// Parts of states that are shown at once, of one state, and what a slice costs where nothing is shown.
const MOST_PARTS: usize = 4_096;
const MOST_OF_STATE: usize = MOST_SENT;
const SLICE_PARTS: usize = 64;
/// Parts that an actor costs beside its state.
const ACTOR_PARTS: usize = 2;
/// Times that a caller goes from one thread to another at once.
const MOST_THREADS: usize = 64;

/// The place that a fold has come to. The first one is all zero.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct FoldPlace {
    /// The rest of the present slice.
    pub slice: ResidentSlice,
    /// The address that the next one begins at, or behind.
    pub next: u64,
    /// The number of the thread that is to show something next, or 0.
    pub thread: u64,
}

/// Words of a place.
pub const PLACE_WORDS: usize = 11;

impl FoldPlace {
    /// The place, written as words.
    pub fn words(&self) -> [u64; PLACE_WORDS] {
        let mut words = [0; PLACE_WORDS];
        (words[0], words[1], words[2]) = (self.next, self.thread, self.slice.start);
        words[3..].copy_from_slice(&self.slice.bits);
        words
    }

    /// Reads a place.
    pub fn of([next, thread, start, bits @ ..]: [u64; PLACE_WORDS]) -> FoldPlace {
        let slice = ResidentSlice { start, bits };
        FoldPlace {
            slice,
            next,
            thread,
        }
    }
}

/// The actors that a fold shows.
#[derive(Clone, Copy, Default, Debug)]
pub struct FoldFilter {
    /// The module of their behaviours; none if any is shown.
    pub module: Option<Atom>,
    /// The name of their behaviour; none if any is shown.
    pub name: Option<Atom>,
}

/// The end of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoldEnd {
    /// More is to be shown.
    More,
    /// The thread of the place has to show the rest of the slice, or everything has to stand still.
    Elsewhere,
    /// All have been shown.
    Done,
}

/// A thread that shows actors.
pub struct ActorsFold<'d> {
    thread: &'d mut Dispatch,
    /// Everything stands still, so that it shows those of all threads.
    stands_still: bool,
    /// Parts that may still be shown.
    left: usize,
}

/// A callback that receives a fold, for one part.
pub type FoldLook = Box<dyn FnOnce(&mut ActorsFold<'_>) + Send>;

impl FoldFilter {
    fn wants(&self, program: &Program, id: BehaviourId) -> bool {
        let name = program.name(id);
        let is_own = id == BehaviourId::SHARED || id.is_socket();
        !is_own
            && self.module.is_none_or(|module| module == name.module)
            && self.name.is_none_or(|wanted| wanted == name.written)
    }
}

impl Machine {
    /// Lets the caller show a part of a fold, by `show`, which goes on from that place, for threads that sleep.
    pub fn fold_here(
        &self,
        place: &mut FoldPlace,
        mut show: impl FnMut(&mut ActorsFold<'_>, &mut FoldPlace) -> FoldEnd,
    ) -> FoldEnd {
        let mut left = MOST_PARTS;
        for _ in 0..MOST_THREADS {
            let station = self.station_of_place(place);
            let mut end = None;
            if self.0.seeded.is_none() {
                let begin = |dispatch: &Dispatch| dispatch.away.is_none().then_some(());
                let stand_in = station.presence.stand_in_soon();
                let stood_in = self.stood_in(&station, stand_in, begin, |thread, ()| {
                    let mut fold = ActorsFold {
                        thread,
                        stands_still: false,
                        left,
                    };
                    end = Some(show(&mut fold, place));
                    left = fold.left;
                    false
                });
                wake_if_needed(&station, stood_in.unwrap_or(false));
            }
            match end {
                Some(FoldEnd::Elsewhere) if place.thread != u64::from(station.number) => {}
                Some(end) => return end,
                None => break,
            }
        }
        FoldEnd::Elsewhere
    }

    /// Lets the thread of that place show a part of a fold, between two turns; or, if everything has to stand still for it,
    /// any thread.
    pub fn fold_there(&self, place: &FoldPlace, stands_still: bool, look: FoldLook) {
        if stands_still {
            return self.survey(move |survey: &mut Survey<'_>| {
                if let Some(thread) = survey.threads.first_mut() {
                    look(&mut ActorsFold::by(thread, true));
                }
            });
        }
        let station = self.station_of_place(place);
        let task = thread::task(move |thread| look(&mut ActorsFold::by(thread, false)));
        self.push(&station, Entry::Task(task));
    }

    fn station_of_place(&self, place: &FoldPlace) -> Arc<Station> {
        let number = ThreadNumber::try_from(place.thread).unwrap_or(0);
        let station = self.stations().find(number);
        station.unwrap_or_else(|| self.sponsors().first().lead().clone())
    }
}

impl<'d> ActorsFold<'d> {
    fn by(thread: &'d mut Dispatch, stands_still: bool) -> ActorsFold<'d> {
        ActorsFold {
            thread,
            stands_still,
            left: MOST_PARTS,
        }
    }

    /// The machine.
    pub fn machine(&self) -> Machine {
        self.thread.context.machine.clone()
    }

    /// Shows the next actors from a place on, each with its state if that takes a moment.
    pub fn each(
        &mut self,
        place: &mut FoldPlace,
        filter: &FoldFilter,
        mut show: impl FnMut(ActorRef<'_>, Option<SeenState<'_>>),
    ) -> FoldEnd {
        let residents = self.thread.context.machine.gc().residents();
        // Invariant 4.
        residents.narrow(&mut place.slice);
        loop {
            if place.slice.is_empty() {
                let Some(slice) = residents.slice_from(place.next) else {
                    return FoldEnd::Done;
                };
                (place.slice, place.next) = (slice, slice.end());
            }
            self.left = self.left.saturating_sub(SLICE_PARTS);
            match self.slice(place, filter, &mut show) {
                FoldEnd::Done if !self.stands_still => {}
                FoldEnd::Done => return FoldEnd::More,
                end => return end,
            }
        }
    }

    /// Shows what it can of a slice. Returns [`FoldEnd::Done`] if nothing of it is left.
    fn slice(
        &mut self,
        place: &mut FoldPlace,
        filter: &FoldFilter,
        show: &mut impl FnMut(ActorRef<'_>, Option<SeenState<'_>>),
    ) -> FoldEnd {
        let program = self.thread.turn.around.program.clone();
        let mut here: SmallVec<[(usize, &Actor); 64]> = SmallVec::new();
        let (mut elsewhere, mut last) = (None, None);
        for (at, actor) in place.slice.actors() {
            // SAFETY: it is marked, and no collection ends meanwhile (residents.rs, invariants 1 and 2).
            let actor = unsafe { &*actor };
            let header = actor.header();
            let id = header.behaviour();
            let is_wanted = match last {
                Some((known, is_wanted)) if known == id => is_wanted,
                _ => header != Header::BURIED && filter.wants(&program, id),
            };
            last = Some((id, is_wanted));
            if !is_wanted {
                place.slice.is_seen(at);
                continue;
            }
            match self.owner_of(actor, header) {
                None => {
                    prefetch(actor.state().word() as *const u8);
                    here.push((at, actor));
                }
                owner => elsewhere = owner,
            }
        }
        for (at, actor) in here {
            if self.left < MOST_OF_STATE {
                return FoldEnd::More;
            }
            let mut most = MOST_OF_STATE - ACTOR_PARTS;
            self.left -= MOST_OF_STATE;
            let state = self.thread.small_state(actor, &mut most);
            self.left += most;
            place.slice.is_seen(at);
            show(ActorRef::new(actor), state);
        }
        match elsewhere {
            None => FoldEnd::Done,
            Some(owner) => {
                place.thread = owner.into();
                FoldEnd::Elsewhere
            }
        }
    }

    /// Returns the thread that has to show an actor; none if this one may (invariant 1).
    fn owner_of(&mut self, actor: &Actor, header: Header) -> Option<ThreadNumber> {
        let me = &self.thread.context.station;
        if header.is_run_by(me.number) || self.stands_still {
            return None;
        }
        let owner = header.owner();
        let stations = self.thread.context.machine.stations();
        let runs = |station: Arc<Station>| owner == me.number || station.own_side().is_some();
        if stations.find(owner).is_some_and(runs) {
            return Some(owner);
        }
        // It has run no turn yet, or its thread has ended.
        let elsewhere = self.thread.own_or_find_owner(actor);
        elsewhere.map(|station| station.number)
    }
}
