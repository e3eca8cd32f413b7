//! The search: situation by situation, those first that fewest turns lead to.
//!
//! Invariants:
//! 1. A situation is taken up once, after all that fewer turns lead to, in the order of the numbers. So the first failure that is
//!    found is one of the shortest that the search has.
//! 2. What the search leaves out it says: a limit that was reached, or something that it does not vary ([`LeftOut`]).
//! 3. Nothing of it is in a heap between two turns: a collection may come, and the machine is as it was.
//! 4. Turns are run by the machine's thread only, in the order in which situations are taken up.
use super::batch::SearchBatch;
use super::compact::{RoomyBytes, SituationLine};
use super::deeds::{Deeds, MeetingRoom};
use super::known::{SearchKnowledge, Sought};
use super::likeness;
use super::looking::{FoundStep, LookEnd, Looker, NEW};
use super::numbering::Numbering;
use super::outcomes::Outcomes;
use super::parts::Components;
use super::seen::{KnownSituations, MOST_SITUATIONS};
use super::shapes::Shapes;
use super::situation::Situation;
use super::steps::SearchSteps;
use super::written::{read, write};
use super::{Finding, FindingKind, LeftOut, Limits, SearchCounts};
use crate::threads::seeded::EventFate;
use crate::threads::thread::Dispatch;
use rustc_hash::{FxHashMap, FxHashSet};
use std::time::Instant;

/// The beginning of a search.
pub(super) struct FirstScene {
    pub(super) situation: Situation,
    /// The number of actors that the outside holds.
    pub(super) roots: usize,
    pub(super) shapes: Shapes,
    pub(super) parts: Components,
    /// The outside has armed timers that a search does not have fire.
    pub(super) leaves_timers: bool,
}

/// The search of one machine. It holds no values of the machine's heaps.
pub struct Search {
    pub(super) known: SearchKnowledge,
    /// The views of the watched actors so far, by digests.
    views: FxHashSet<u64>,
    /// The views so far of the actors that tell of goals, by digests, and which of them is a goal, as far as the caller has
    /// said.
    goal_views: FxHashMap<u64, u32>,
    is_goal: Vec<bool>,
    /// The goal view of each situation.
    goal_view_of: Vec<u32>,
    /// Nothing more is to be found out of goals.
    is_judged: bool,
    /// The first situation.
    pub(super) first: Vec<u8>,
    steps: SearchSteps,
    /// The situations in which nothing waits but for ends of processes.
    may_rest: FxHashSet<u32>,
    line: SituationLine,
    batch: SearchBatch,
    /// One for each thread.
    lookers: Vec<Looker>,
    /// A situation that is taken up.
    here: (Vec<u8>, Situation),
    /// The number of that situation.
    at: u32,
    pub(super) counts: SearchCounts,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) found: Vec<Finding>,
    failed: bool,
    /// It has come to a limit beyond which it does not go on.
    full: bool,
}

impl Search {
    /// The search that begins there.
    pub(super) fn new(limits: Limits, asked: Sought, beginning: FirstScene) -> Search {
        let FirstScene {
            situation,
            roots,
            shapes,
            parts,
            ..
        } = beginning;
        let (mut numbering, mut room) = (Numbering::default(), RoomyBytes::default());
        numbering.number(&situation, roots, &shapes);
        write(&situation, &numbering, &shapes, &mut room);
        let written = room.written(0, room.len()).to_vec();
        let digest = likeness::digest(&situation, &numbering, &shapes);
        let is_judged = asked.goals.is_empty();
        let mut known = SearchKnowledge {
            limits,
            asked,
            roots,
            shapes,
            parts,
            deeds: Deeds::new(),
            seen: KnownSituations::new(),
            outcomes: Outcomes::default(),
            depth: 0,
            deeper_from: 1,
            arms_again: false,
        };
        known.seen.meet(digest);
        known.outcomes.make_room(1);
        let mut line = SituationLine::default();
        line.push(&written);
        let threads = limits.threads.max(1);
        Search {
            known,
            views: FxHashSet::default(),
            goal_views: FxHashMap::default(),
            is_goal: Vec::new(),
            goal_view_of: Vec::new(),
            is_judged,
            first: written,
            steps: SearchSteps::new(),
            may_rest: FxHashSet::default(),
            line,
            batch: SearchBatch::default(),
            lookers: std::iter::repeat_with(Looker::default)
                .take(threads)
                .collect(),
            here: (Vec::new(), Situation::default()),
            at: 0,
            counts: SearchCounts::default(),
            left_out: Vec::new(),
            found: Vec::new(),
            failed: false,
            full: false,
        }
    }

    /// Returns whether nothing is left to look at, or nothing may be.
    pub fn is_over(&self) -> bool {
        let is_through = self.line.is_empty() && self.batch.is_done();
        self.failed || self.full || is_through && self.is_judged
    }

    /// Learns which of the situations that it has found last, to be asked of, are goals.
    pub fn learn(&mut self, goals: &[bool]) {
        self.is_goal.extend(goals);
    }

    /// Goes on until then, or until something is found.
    pub(super) fn go_on(&mut self, dispatch: &mut Dispatch, until: Instant) {
        while !self.is_over() && self.found.is_empty() {
            let is_new_batch = self.batch.is_done();
            if is_new_batch && !self.look_at_more() {
                self.judge(dispatch);
                break;
            }
            let has_run = self.take_up(dispatch);
            self.steps.end();
            self.at += 1;
            // Turns that are not known yet may take long.
            if (is_new_batch || has_run) && Instant::now() >= until {
                break;
            }
        }
        self.counts.states = self.known.seen.len() as u64;
        self.counts.bytes = self.counts.bytes.max(self.bytes() as u64);
        if self.is_over() && !self.failed && self.left_out.is_empty() {
            self.counts.orders = self.steps.graph().orders();
        }
    }

    /// Looks at the next situations. Returns whether there are any.
    fn look_at_more(&mut self) -> bool {
        let known = &mut self.known;
        if self.at == known.deeper_from {
            known.depth += 1;
            known.deeper_from = known.seen.len() as u32;
            let width = known.deeper_from - self.at;
            known.outcomes.make_room(width as usize);
        }
        let most = known.deeper_from - self.at;
        self.batch
            .fill(&mut self.line, most as usize, self.lookers.len());
        self.batch.look(known, &mut self.lookers);
        !self.batch.is_done()
    }

    /// Takes up what was found in the next situation. Returns whether turns had to be run for that.
    fn take_up(&mut self, dispatch: &mut Dispatch) -> bool {
        let mut lookers = std::mem::take(&mut self.lookers);
        let mut here = std::mem::take(&mut self.here);
        let (written, mut by, mut from, mut end) = self.batch.next();
        here.0.clear();
        here.0.extend_from_slice(written);
        let mut has_run = false;
        while let LookEnd::Unknown(event) = end {
            has_run = true;
            read(&here.0, &self.known.shapes, &mut here.1);
            self.act_out(dispatch, &here.1, event as usize);
            (by, from) = (0, lookers[0].steps.len());
            end = lookers[0].look_at(&self.known, &here.0);
        }
        if self.at == 0 {
            read(&here.0, &self.known.shapes, &mut here.1);
            let views = self.known.views(&here.1);
            self.see(dispatch, views, None, true);
        }
        if let LookEnd::Leads(to) | LookEnd::MayRest(to) = end {
            for step in from..to as usize {
                self.meet(dispatch, &mut lookers[by], &here.0, step);
            }
        }
        match end {
            LookEnd::Leads(_) => {}
            LookEnd::TooLarge => self.leave_out(LeftOut::Size),
            LookEnd::TooDeep => self.stop_at(LeftOut::Depth),
            LookEnd::Rests | LookEnd::MayRest(_) | LookEnd::Unknown(_) => {
                if end != LookEnd::Rests {
                    self.may_rest.insert(self.at);
                }
                read(&here.0, &self.known.shapes, &mut here.1);
                self.rest(dispatch, &here.1);
            }
        }
        (self.lookers, self.here) = (lookers, here);
        has_run
    }

    /// Runs a turn that is not known.
    fn act_out(&mut self, dispatch: &mut Dispatch, situation: &Situation, event: usize) {
        let left_out = self.known.act_out(dispatch, situation, event);
        left_out.into_iter().for_each(|what| self.leave_out(what));
    }

    /// The number of what a turn does.
    pub(super) fn deed(
        &mut self,
        dispatch: &mut Dispatch,
        situation: &Situation,
        event: usize,
        fate: EventFate,
    ) -> u32 {
        if !matches!(fate, EventFate::Runs | EventFate::Twice) {
            return Deeds::NOTHING;
        }
        let mut room = MeetingRoom::default();
        loop {
            if let Some(known) = self.known.deeds.find(situation, event, &mut room) {
                return known;
            }
            self.act_out(dispatch, situation, event);
        }
    }

    /// Everything was looked at: finds what leads to no goal, unless something was left out that might.
    fn judge(&mut self, dispatch: &mut Dispatch) {
        self.is_judged = true;
        if !self.left_out.is_empty() {
            return;
        }
        let is_goal = |at: u32| {
            let view = self.goal_view_of[at as usize];
            self.is_goal[view as usize]
        };
        let may_rest = |at: u32| self.may_rest.contains(&at);
        if let Some(lost) = self.steps.graph().lost(is_goal, may_rest) {
            self.failed = true;
            self.at = lost;
            self.find(dispatch, FindingKind::Never, None);
        }
    }

    /// Bytes that it takes.
    fn bytes(&self) -> usize {
        let known =
            self.known.shapes.bytes() + self.known.deeds.bytes() + self.known.outcomes.bytes();
        let goals = self.goal_view_of.capacity() * size_of::<u32>();
        self.known.seen.bytes() + self.steps.bytes() + self.line.bytes() + known + goals
    }

    pub(super) fn leave_out(&mut self, what: LeftOut) {
        if !self.left_out.contains(&what) {
            self.left_out.push(what);
        }
    }

    /// Notes what those actors are that somebody looks at, in a situation that that step leads to, and whether it `is_new`.
    fn see(
        &mut self,
        dispatch: &mut Dispatch,
        [view, goal_view]: [u64; 2],
        step: Option<u32>,
        is_new: bool,
    ) {
        if !self.known.asked.watched.is_empty() && self.views.insert(view) {
            self.find(dispatch, FindingKind::View, step);
        }
        if is_new && !self.known.asked.goals.is_empty() {
            let next = self.goal_views.len() as u32;
            let number = *self.goal_views.entry(goal_view).or_insert(next);
            self.goal_view_of.push(number);
            if number == next {
                self.find(dispatch, FindingKind::Goal, step);
            }
        }
    }

    /// Meets the situation that a step leads to.
    fn meet(&mut self, dispatch: &mut Dispatch, looker: &mut Looker, here: &[u8], at: usize) {
        let found: FoundStep = looker.steps[at];
        self.counts.turns += 1;
        let (number, is_new) = match found.to {
            NEW => self.known.seen.meet(found.digest),
            known => (known, false),
        };
        self.steps.add(found.step, number);
        if let Some(foretold) = found.foretold {
            self.known.outcomes.put(foretold, number);
        }
        if is_new {
            self.line.push(looker.written(&self.known, here, at));
            self.keep_limits();
        }
        let step = Some(found.step);
        if let Some(views) = looker.views(at) {
            self.see(dispatch, views, step, is_new);
        }
        if let Some(what) = found.wrong {
            self.fail(dispatch, what, step);
        }
    }

    /// Names a limit that is reached, and timers that may be why: those that are armed again and again.
    fn stop_at(&mut self, limit: LeftOut) {
        self.leave_out(limit);
        if self.known.arms_again {
            self.leave_out(LeftOut::Timers);
        }
    }

    /// Goes no further when a limit is reached.
    fn keep_limits(&mut self) {
        let states = self.known.seen.len() as u64;
        let limits = self.known.limits;
        let all = [
            (
                states > limits.states.min(MOST_SITUATIONS - 1),
                LeftOut::States,
            ),
            (self.bytes() as u64 > limits.bytes, LeftOut::Memory),
        ];
        if let Some((_, limit)) = all.into_iter().find(|(is_reached, _)| *is_reached) {
            self.stop_at(limit);
            self.full = true;
        }
    }

    /// Nothing waits: an end that the caller looks at.
    fn rest(&mut self, dispatch: &mut Dispatch, here: &Situation) {
        self.counts.ends += 1;
        let is_owed =
            |(by, count): &(u32, usize)| here.heard_by(*by) < *count && !here.ended.contains(by);
        if self.known.asked.wanted.iter().any(is_owed) {
            self.fail(dispatch, FindingKind::Unanswered, None);
        }
        if here
            .actors
            .iter()
            .any(|actor| self.known.shapes.of(actor.shape).keeps)
        {
            self.fail(dispatch, FindingKind::Stashed, None);
        }
        self.find(dispatch, FindingKind::Rest, None);
    }

    /// Notes a flaw, unless it is allowed.
    fn fail(&mut self, dispatch: &mut Dispatch, what: FindingKind, step: Option<u32>) {
        if !self.known.asked.allowed.allows(what) && !self.failed {
            self.failed = true;
            self.find(dispatch, what, step);
        }
    }

    /// Notes what is found where the search is, or after that step.
    fn find(&mut self, dispatch: &mut Dispatch, what: FindingKind, step: Option<u32>) {
        let mut way = self.steps.way(self.at);
        way.extend(step);
        match self.places(dispatch, &way) {
            Some(order) => self.found.push(Finding { what, order }),
            None => self.leave_out(LeftOut::Memory),
        }
    }
}
