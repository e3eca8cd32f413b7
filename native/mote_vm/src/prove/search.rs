//! The search: situation by situation, those first that fewest turns lead to.
//!
//! Invariants:
//! 1. A situation is looked at once, after all that fewer turns lead to. So the first failure that is found is one of the
//!    shortest that the search has.
//! 2. What the search leaves out it says: a limit that was reached, or something that it does not vary ([`LeftOut`]).
//! 3. Nothing of it is in a heap between two calls: a collection may come, and the machine is as it was.
use super::colours::view;
use super::orders::SearchSteps;
use super::parts::{Components, TooLarge};
use super::read::{read, Live};
use super::reduction::{Acquaintance, Choice};
use super::seen::{KnownSituations, SearchStep};
use super::situation::Situation;
use super::turn::{after, Deed, DeedEnd};
use super::written::{write, WrittenDown};
use super::{Allowed, Finding, FindingKind, LeftOut, Limits, SearchCounts};
use crate::code::program::Program;
use crate::threads::thread::Dispatch;
use crate::values::foreign::ForeignRef;
use crate::values::value::Value;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use std::time::Instant;

/// Events that may wait in one situation.
const MOST_WAITING: usize = 1_000;

/// A situation that is to be looked at.
struct ToLookAt {
    number: u32,
    depth: u32,
    words: Box<[Value]>,
}

/// What is looked for.
pub(super) struct Sought {
    /// The foreign values that are asked to be answered, and how often.
    pub(super) wanted: Vec<(u32, usize)>,
    /// The actors that somebody looks at, by their numbers.
    pub(super) watched: Vec<usize>,
    pub(super) allowed: Allowed,
}

/// The search of one machine. It holds no values of the machine's heaps.
pub struct Search {
    pub(super) limits: Limits,
    asked: Sought,
    /// What the watched actors have been, by digests.
    views: FxHashSet<u64>,
    /// The first situation, and how many actors the outside holds there.
    pub(super) first: WrittenDown,
    pub(super) roots: usize,
    pub(super) parts: Components,
    pub(super) seen: KnownSituations,
    steps: SearchSteps,
    next: VecDeque<ToLookAt>,
    waiting_bytes: usize,
    pub(super) counts: SearchCounts,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) found: Vec<Finding>,
    pub(super) failed: bool,
    /// It has come to a limit beyond which it does not go on.
    full: bool,
}

/// The situation that is looked at, in the heap.
struct Scene<'s> {
    next: &'s ToLookAt,
    situation: &'s Situation,
    program: &'s Program,
}

/// What a turn has led to.
enum Led {
    ToNew,
    ToKnown,
    Nowhere,
}

impl Search {
    /// The search that begins in that situation.
    pub(super) fn new(
        limits: Limits,
        asked: Sought,
        situation: &Situation,
        (first, parts): (WrittenDown, Components),
    ) -> Search {
        let mut search = Search {
            limits,
            asked,
            views: FxHashSet::default(),
            roots: situation.roots.len(),
            first,
            parts,
            seen: KnownSituations::new(),
            steps: SearchSteps::default(),
            next: VecDeque::new(),
            waiting_bytes: 0,
            counts: SearchCounts::default(),
            left_out: Vec::new(),
            found: Vec::new(),
            failed: false,
            full: false,
        };
        let words = search.first.words.clone();
        search.meet(words, SearchStep { from: 0, event: 0 }, 0);
        search
    }

    /// Returns whether nothing is left to look at, or nothing may be.
    pub fn is_over(&self) -> bool {
        self.failed || self.full || self.next.is_empty()
    }

    /// Goes on until then, or until something is found.
    pub(super) fn go_on(&mut self, dispatch: &mut Dispatch, until: Instant) {
        while !self.is_over() && self.found.is_empty() {
            let Some(next) = self.next.pop_front() else {
                break;
            };
            self.waiting_bytes -= size_of_val(&*next.words);
            let from = dispatch.turn.heap.position();
            if self.look_at(dispatch, &next).is_err() {
                self.leave_out(LeftOut::Size);
            }
            dispatch.turn.heap.rewind(from);
            // A situation has up to a thousand turns.
            if Instant::now() >= until {
                break;
            }
        }
        self.counts.states = self.seen.len() as u64;
        let bytes = self.seen.bytes() + self.steps.bytes() + self.waiting_bytes;
        self.counts.bytes = self.counts.bytes.max(bytes as u64);
        if self.is_over() && !self.failed && self.left_out.is_empty() {
            self.counts.orders = self.steps.orders(&self.seen);
        }
    }

    pub(super) fn leave_out(&mut self, what: LeftOut) {
        if !self.left_out.contains(&what) {
            self.left_out.push(what);
        }
    }

    /// The foreign values that situations name.
    pub(super) fn foreigns(&self) -> &[ForeignRef] {
        &self.parts.foreigns
    }

    /// Puts a situation where a search can run turns in it.
    pub(super) fn enter(&mut self, dispatch: &mut Dispatch, words: &[Value]) -> Option<Live> {
        let turn = &mut dispatch.turn;
        let program = turn.around.program.clone();
        let (roots, foreigns) = (self.roots, self.foreigns());
        read(words, roots, &program, foreigns, turn.birth, &mut turn.heap)
    }

    fn look_at(&mut self, dispatch: &mut Dispatch, next: &ToLookAt) -> Result<(), TooLarge> {
        self.steps.begin();
        let Some(live) = self.enter(dispatch, &next.words) else {
            self.leave_out(LeftOut::Memory);
            return Ok(());
        };
        if next.number == 0 {
            let program = dispatch.turn.around.program.clone();
            if self.is_new_view(&live.situation, &program)? {
                self.find(dispatch, FindingKind::View, None, 0);
            }
        }
        if live.situation.pending.is_empty() {
            self.rest(dispatch, next, &live);
            return Ok(());
        }
        if live.situation.pending.len() > MOST_WAITING {
            return Err(TooLarge);
        }
        if next.depth >= self.limits.depth {
            self.leave_out(LeftOut::Depth);
            return Ok(());
        }
        let program = dispatch.turn.around.program.clone();
        let scene = Scene {
            next,
            situation: &live.situation,
            program: &program,
        };
        let mut enabled = live.situation.enabled(&program);
        if self.limits.reduces && enabled.len() > 1 {
            let known = Acquaintance::new(&live, &program, &mut self.parts)?;
            for choice in known.choices(&enabled) {
                if self.is_seen(&live, &choice) {
                    continue;
                }
                let suffices = self.choose(dispatch, &scene, &choice)?;
                enabled.retain(|at| !choice.events.contains(at));
                if suffices {
                    return Ok(());
                }
            }
        }
        for at in enabled {
            self.take(dispatch, &scene, at, |_| ())?;
        }
        Ok(())
    }

    /// Returns whether the order of these turns among those of other actors is seen: what one of several watched actors becomes.
    fn is_seen(&self, live: &Live, choice: &Choice) -> bool {
        let watched = &self.asked.watched;
        let is_watched = |at: &usize| {
            let target = live.situation.pending[*at].target;
            watched.iter().any(|actor| live.actors[*actor] == target)
        };
        watched.len() > 1 && choice.events.iter().any(is_watched)
    }

    /// Notes what the watched actors are. Returns whether they were not that before.
    fn is_new_view(&mut self, situation: &Situation, program: &Program) -> Result<bool, TooLarge> {
        if self.asked.watched.is_empty() {
            return Ok(false);
        }
        let watched = self.asked.watched.iter().map(|at| situation.roots[*at]);
        let view = view(situation, watched, program, &mut self.parts)?;
        Ok(self.views.insert(view))
    }

    /// Runs the turns of a choice. Returns whether they suffice (reduction.rs).
    fn choose(
        &mut self,
        dispatch: &mut Dispatch,
        scene: &Scene<'_>,
        choice: &Choice,
    ) -> Result<bool, TooLarge> {
        let (mut suffices, mut is_new) = (true, false);
        for &at in &choice.events {
            let led = self.take(dispatch, scene, at, |deed| {
                let mut heard = deed.heard.iter();
                suffices &= !heard.any(|heard| choice.others_may_tell(heard.by));
            })?;
            is_new |= matches!(led, Led::ToNew);
        }
        Ok(suffices && is_new)
    }

    /// Runs one turn, and meets the situation that it leads to.
    fn take(
        &mut self,
        dispatch: &mut Dispatch,
        scene: &Scene<'_>,
        at: usize,
        mut see: impl FnMut(&Deed),
    ) -> Result<Led, TooLarge> {
        self.counts.turns += 1;
        let Scene {
            next,
            situation,
            program,
        } = *scene;
        let step = SearchStep {
            from: next.number,
            event: at as u16,
        };
        let pending = &situation.pending[at];
        let deed = dispatch.act_out(pending, self.limits.ordered, &mut self.parts);
        see(&deed);
        let (written, is_answered_again, is_new_view) =
            after(situation, at, &deed, program, |after| {
                let is_new_view = self.is_new_view(after, program);
                let is_answered_again = excess(&self.asked.wanted, after);
                let written = write(after, program, &mut self.parts);
                (written, is_answered_again, is_new_view)
            });
        let drew = dispatch.forget_rehearsal();
        if drew {
            self.leave_out(LeftOut::Random);
        }
        if dispatch.turn.around.clock.was_asked() {
            self.leave_out(LeftOut::Clock);
        }
        if deed.arms {
            self.leave_out(LeftOut::Timers);
        }
        let led = match deed.end {
            DeedEnd::Broken => {
                self.leave_out(LeftOut::Memory);
                return Ok(Led::Nowhere);
            }
            _ => self.meet(written?.words, step, next.depth + 1),
        };
        if is_new_view? {
            self.find(dispatch, FindingKind::View, Some(step), next.number);
        }
        let wrong = [
            (deed.end == DeedEnd::Aborted, FindingKind::Aborted),
            (deed.end == DeedEnd::Ignored, FindingKind::Ignored),
            (deed.drops, FindingKind::Dropped),
            (is_answered_again, FindingKind::AnsweredAgain),
        ];
        for (is, what) in wrong {
            if is {
                self.fail(dispatch, what, Some(step), next.number);
            }
        }
        Ok(led)
    }

    fn meet(&mut self, words: Box<[Value]>, by: SearchStep, depth: u32) -> Led {
        let (number, is_new) = self.seen.meet(super::digest::digest(&words), by);
        // But the first, which no step leads to.
        if self.seen.len() > 1 || !is_new {
            self.steps.add(number);
        }
        if !is_new {
            return Led::ToKnown;
        }
        let bytes = self.seen.bytes() + self.steps.bytes() + self.waiting_bytes;
        let limits = [
            (self.seen.len() as u64 > self.limits.states, LeftOut::States),
            (bytes as u64 > self.limits.bytes, LeftOut::Memory),
        ];
        if let Some((_, limit)) = limits.into_iter().find(|(is_reached, _)| *is_reached) {
            self.leave_out(limit);
            self.full = true;
            return Led::ToNew;
        }
        self.waiting_bytes += size_of_val(&*words);
        self.next.push_back(ToLookAt {
            number,
            depth,
            words,
        });
        Led::ToNew
    }

    /// Nothing waits: an end that the caller looks at.
    fn rest(&mut self, dispatch: &mut Dispatch, next: &ToLookAt, live: &Live) {
        self.counts.ends += 1;
        let is_owed = |(by, count): &(u32, usize)| live.situation.heard_by(*by) < *count;
        if self.asked.wanted.iter().any(is_owed) {
            self.fail(dispatch, FindingKind::Unanswered, None, next.number);
        }
        if !live.situation.keepers.is_empty() {
            self.fail(dispatch, FindingKind::Stashed, None, next.number);
        }
        self.find(dispatch, FindingKind::Rest, None, next.number);
    }

    /// Something is wrong, unless that is allowed.
    fn fail(
        &mut self,
        dispatch: &mut Dispatch,
        what: FindingKind,
        step: Option<SearchStep>,
        at: u32,
    ) {
        if !self.asked.allowed.allows(what) && !self.failed {
            self.failed = true;
            self.find(dispatch, what, step, at);
        }
    }

    fn find(
        &mut self,
        dispatch: &mut Dispatch,
        what: FindingKind,
        step: Option<SearchStep>,
        at: u32,
    ) {
        let mut way = self.seen.way(at);
        way.extend(step.map(|step| step.event));
        match self.places(dispatch, &way) {
            Some(order) => self.found.push(Finding { what, order }),
            None => self.leave_out(LeftOut::Memory),
        }
    }
}

/// Returns whether somebody was answered more often than asked to be.
fn excess(wanted: &[(u32, usize)], situation: &Situation) -> bool {
    let is_exceeded = |(by, count): &(u32, usize)| situation.heard_by(*by) > *count;
    wanted.iter().any(is_exceeded)
}
