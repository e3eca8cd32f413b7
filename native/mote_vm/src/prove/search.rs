//! The search: situation by situation, those first that fewest turns lead to.
//!
//! Invariants:
//! 1. A situation is looked at once, after all that fewer turns lead to, in the order of the numbers. So the first failure that is
//!    found is one of the shortest that the search has.
//! 2. What the search leaves out it says: a limit that was reached, or something that it does not vary ([`LeftOut`]).
//! 3. Nothing of it is in a heap between two turns: a collection may come, and the machine is as it was.
use super::compact::SituationLine;
use super::deeds::{Deed, DeedEnd, Deeds};
use super::digest::{digest_of_bytes, mixed};
use super::parts::{Components, TooLarge};
use super::reduction::{Acquaintance, Choice};
use super::seen::{KnownSituations, MOST_SITUATIONS};
use super::shapes::Shapes;
use super::situation::{SentBy, Situation, WaitingEvent};
use super::steps::SearchSteps;
use super::written::{read, SituationWriter};
use super::{Allowed, Finding, FindingKind, LeftOut, Limits, SearchCounts};
use crate::threads::seeded::EventFate;
use crate::threads::thread::Dispatch;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::time::Instant;

/// Events that may wait in one situation, and words that it may have.
const MOST_WAITING: usize = 1_000;
const LARGEST: usize = 1 << 16;

/// Situations that are looked at between two looks at the clock.
const AT_A_TIME: usize = 64;

/// What is looked for.
pub(super) struct Sought {
    /// The foreign values that are asked to be answered, and how often.
    pub(super) wanted: Vec<(u32, usize)>,
    /// The actors that somebody looks at, by their numbers.
    pub(super) watched: Vec<u32>,
    /// Those by whom it is told whether a goal is reached; none if nothing is a goal.
    pub(super) goals: Vec<u32>,
    /// Those whose messages get lost, or come twice, and whose turns are aborted.
    pub(super) faults: [(EventFate, Vec<u32>); 3],
    pub(super) allowed: Allowed,
}

/// Where a search begins.
pub(super) struct FirstScene {
    pub(super) situation: Situation,
    /// How many actors the outside holds.
    pub(super) roots: usize,
    pub(super) shapes: Shapes,
    pub(super) parts: Components,
}

/// The search of one machine. It holds no values of the machine's heaps.
pub struct Search {
    pub(super) limits: Limits,
    asked: Sought,
    /// What the watched actors have been, by digests.
    views: FxHashSet<u64>,
    /// What those have been that tell of goals, by digests, and which of that is a goal, as far as the caller has said.
    goal_views: FxHashMap<u64, u32>,
    is_goal: Vec<bool>,
    /// Of each situation what they are there.
    goal_view_of: Vec<u32>,
    /// Nothing more is to be found out of goals.
    is_judged: bool,
    /// The first situation, and the places that its events had in the queue.
    pub(super) first: (Vec<u8>, Vec<usize>),
    pub(super) roots: usize,
    pub(super) parts: Components,
    pub(super) shapes: Shapes,
    pub(super) deeds: Deeds,
    pub(super) writer: SituationWriter,
    seen: KnownSituations,
    steps: SearchSteps,
    line: SituationLine,
    /// The number of the situation that is looked at, how many turns have led there, and the first one that more lead to.
    at: u32,
    depth: u32,
    deeper_from: u32,
    room: SearchRoom,
    pub(super) counts: SearchCounts,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) found: Vec<Finding>,
    failed: bool,
    /// It has come to a limit beyond which it does not go on.
    full: bool,
}

/// Room for what is looked at, kept from one situation to the next.
#[derive(Default)]
struct SearchRoom {
    written: Vec<u8>,
    here: Situation,
    next: Situation,
    enabled: Vec<u16>,
    choices: Vec<Choice>,
    acquaintance: Acquaintance,
}

/// A step, as a number: an event, and its fate.
fn step(event: usize, fate: EventFate) -> u32 {
    (fate as u32) * MOST_WAITING as u32 + event as u32
}

/// The event of a step, and its fate.
pub(super) fn opened(step: u32) -> (usize, EventFate) {
    let step = step as usize;
    (step % MOST_WAITING, EventFate::ALL[step / MOST_WAITING])
}

impl Search {
    /// The search that begins there.
    pub(super) fn new(limits: Limits, asked: Sought, beginning: FirstScene) -> Search {
        let FirstScene {
            situation,
            roots,
            shapes,
            parts,
        } = beginning;
        let mut writer = SituationWriter::default();
        let written = writer.write(&situation, roots, &shapes).to_vec();
        let places = writer.places().collect();
        let is_judged = asked.goals.is_empty();
        let mut search = Search {
            limits,
            asked,
            views: FxHashSet::default(),
            goal_views: FxHashMap::default(),
            is_goal: Vec::new(),
            goal_view_of: Vec::new(),
            is_judged,
            first: (written, places),
            roots,
            parts,
            shapes,
            deeds: Deeds::new(),
            writer,
            seen: KnownSituations::new(),
            steps: SearchSteps::new(),
            line: SituationLine::default(),
            at: 0,
            depth: 0,
            deeper_from: 1,
            room: SearchRoom::default(),
            counts: SearchCounts::default(),
            left_out: Vec::new(),
            found: Vec::new(),
            failed: false,
            full: false,
        };
        search.seen.meet(digest_of_bytes(&search.first.0));
        search.line.push(&search.first.0);
        search
    }

    /// Returns whether nothing is left to look at, or nothing may be.
    pub fn is_over(&self) -> bool {
        self.failed || self.full || self.line.is_empty() && self.is_judged
    }

    /// Learns which of the situations that it has found last, to be asked of, are goals.
    pub fn learn(&mut self, goals: &[bool]) {
        self.is_goal.extend(goals);
    }

    /// Goes on until then, or until something is found.
    pub(super) fn go_on(&mut self, dispatch: &mut Dispatch, until: Instant) {
        let mut room = std::mem::take(&mut self.room);
        let mut looked_at = 0;
        while !self.is_over() && self.found.is_empty() {
            if !self.line.pop(&mut room.written) {
                self.judge(dispatch);
                break;
            }
            if self.at == self.deeper_from {
                self.depth += 1;
                self.deeper_from = self.seen.len() as u32;
            }
            if self.look_at(dispatch, &mut room).is_err() {
                self.leave_out(LeftOut::Size);
            }
            self.steps.end();
            self.at += 1;
            looked_at += 1;
            // Turns that are not known yet may take long.
            let is_time = looked_at % AT_A_TIME == 0 || std::mem::take(&mut self.deeds.is_new);
            if is_time && Instant::now() >= until {
                break;
            }
        }
        self.room = room;
        self.counts.states = self.seen.len() as u64;
        self.counts.bytes = self.counts.bytes.max(self.bytes() as u64);
        if self.is_over() && !self.failed && self.left_out.is_empty() {
            self.counts.orders = self.steps.graph().orders();
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
        if let Some(lost) = self.steps.graph().lost(is_goal) {
            self.failed = true;
            self.at = lost;
            self.find(dispatch, FindingKind::Never, None);
        }
    }

    /// Bytes that it takes.
    fn bytes(&self) -> usize {
        let known = self.shapes.bytes() + self.deeds.bytes();
        let goals = self.goal_view_of.capacity() * size_of::<u32>();
        self.seen.bytes() + self.steps.bytes() + self.line.bytes() + known + goals
    }

    pub(super) fn leave_out(&mut self, what: LeftOut) {
        if !self.left_out.contains(&what) {
            self.left_out.push(what);
        }
    }

    fn look_at(&mut self, dispatch: &mut Dispatch, room: &mut SearchRoom) -> Result<(), TooLarge> {
        read(&room.written, &self.shapes, &mut room.here);
        if self.at == 0 {
            self.see(dispatch, &room.here, None, true);
        }
        if room.here.pending.is_empty() {
            self.rest(dispatch, &room.here);
            return Ok(());
        }
        if room.here.pending.len() > MOST_WAITING || room.here.size() > LARGEST {
            return Err(TooLarge);
        }
        if self.depth >= self.limits.depth {
            self.leave_out(LeftOut::Depth);
            return Ok(());
        }
        let mut enabled = std::mem::take(&mut room.enabled);
        room.here.enabled(&self.shapes, &mut enabled);
        let mut choices = std::mem::take(&mut room.choices);
        choices.clear();
        if self.limits.reduces && enabled.len() > 1 {
            let SearchRoom {
                acquaintance, here, ..
            } = room;
            acquaintance.choices(here, &self.shapes, &enabled, &mut choices);
        }
        for choice in &choices {
            if self.is_seen(choice) {
                continue;
            }
            let suffices = self.choose(dispatch, room, choice)?;
            enabled.retain(|at| !choice.events.contains(at));
            if suffices {
                enabled.clear();
                break;
            }
        }
        for at in &enabled {
            for fate in self.fates(&room.here, *at) {
                self.take(dispatch, room, (*at).into(), fate)?;
            }
        }
        room.enabled = enabled;
        room.choices = choices;
        Ok(())
    }

    /// Returns whether the order of these turns among those of other actors is seen: what one of several watched actors becomes.
    fn is_seen(&self, choice: &Choice) -> bool {
        let watched = &self.asked.watched;
        watched.len() > 1 && watched.contains(&choice.target)
    }

    /// What may become of an event.
    fn fates(&self, here: &Situation, at: u16) -> SmallVec<[EventFate; 4]> {
        let WaitingEvent { target, sender, .. } = here.pending[usize::from(at)];
        let happens = |fate: EventFate| match fate {
            EventFate::Twice => sender != SentBy::COPY && sender != SentBy::ITSELF,
            // What an actor has kept is there.
            EventFate::Lost => sender != SentBy::ITSELF,
            _ => true,
        };
        let faults = self.asked.faults.iter();
        let meant = faults.filter(|(fate, actors)| happens(*fate) && actors.contains(&target));
        std::iter::once(EventFate::Runs)
            .chain(meant.map(|(fate, _)| *fate))
            .collect()
    }

    /// What some actors are. Others that they know of count as one, but for those that the outside holds.
    fn view(&self, situation: &Situation, actors: &[u32]) -> u64 {
        let mut view = 17;
        for at in actors {
            let actor = situation.actors[*at as usize];
            view = mixed(view, actor.shape.into());
            for name in situation.names(actor) {
                view = mixed(view, self.roots.min(*name as usize) as u64);
            }
        }
        view
    }

    /// Notes what those actors are that somebody looks at, in a situation that that step leads to, and whether it `is_new`.
    fn see(
        &mut self,
        dispatch: &mut Dispatch,
        situation: &Situation,
        step: Option<u32>,
        is_new: bool,
    ) {
        if !self.asked.watched.is_empty() {
            let view = self.view(situation, &self.asked.watched);
            if self.views.insert(view) {
                self.find(dispatch, FindingKind::View, step);
            }
        }
        if is_new && !self.asked.goals.is_empty() {
            let view = self.view(situation, &self.asked.goals);
            let next = self.goal_views.len() as u32;
            let number = *self.goal_views.entry(view).or_insert(next);
            self.goal_view_of.push(number);
            if number == next {
                self.find(dispatch, FindingKind::Goal, step);
            }
        }
    }

    /// Runs the turns of a choice. Returns whether they suffice (reduction.rs).
    fn choose(
        &mut self,
        dispatch: &mut Dispatch,
        room: &mut SearchRoom,
        choice: &Choice,
    ) -> Result<bool, TooLarge> {
        let (mut suffices, mut is_new) = (true, false);
        let steps = choice.events.iter().flat_map(|at| {
            let fates = self.fates(&room.here, *at);
            fates.into_iter().map(|fate| (usize::from(*at), fate))
        });
        let steps: SmallVec<[(usize, EventFate); 8]> = steps.collect();
        for (at, fate) in steps {
            let (deed, led_to_new) = self.take(dispatch, room, at, fate)?;
            is_new |= led_to_new;
            let Some(deed) = deed else {
                continue;
            };
            let mut heard = self.deeds.of(deed).heard.iter();
            let SearchRoom {
                acquaintance, here, ..
            } = room;
            suffices &=
                !heard.any(|(by, _)| acquaintance.others_may_tell(here, &self.shapes, choice, *by));
        }
        Ok(suffices && is_new)
    }

    /// The number of what a turn does; none if it cannot be run.
    pub(super) fn deed(
        &mut self,
        dispatch: &mut Dispatch,
        situation: &Situation,
        event: usize,
        fate: EventFate,
    ) -> Result<Option<u32>, TooLarge> {
        if matches!(fate, EventFate::Lost | EventFate::Aborted) {
            return Ok(Some(Deeds::NOTHING));
        }
        if let Some(known) = self.deeds.find(situation, event) {
            return Ok(Some(known));
        }
        let kept = (&mut self.shapes, &mut self.parts);
        let deed = dispatch.act_out(situation, event, self.limits.ordered, kept)?;
        let left_out = [
            (deed.draws, LeftOut::Random),
            (deed.asks, LeftOut::Clock),
            (deed.arms, LeftOut::Timers),
            (deed.end == DeedEnd::Broken, LeftOut::Memory),
        ];
        for (is, what) in left_out {
            if is {
                self.leave_out(what);
            }
        }
        Ok((deed.end != DeedEnd::Broken).then(|| self.deeds.note(deed)))
    }

    /// Runs one turn, and meets the situation that it leads to. What the turn does, and whether that situation is new.
    fn take(
        &mut self,
        dispatch: &mut Dispatch,
        room: &mut SearchRoom,
        at: usize,
        fate: EventFate,
    ) -> Result<(Option<u32>, bool), TooLarge> {
        self.counts.turns += 1;
        let Some(number) = self.deed(dispatch, &room.here, at, fate)? else {
            return Ok((None, false));
        };
        let deed = self.deeds.of(number);
        room.next
            .after(&room.here, at, deed, fate == EventFate::Twice);
        let Deed { end, drops, .. } = *deed;
        let hears = !deed.heard.is_empty();
        let step = step(at, fate);
        let is_new = self.meet(room, step);
        self.see(dispatch, &room.next, Some(step), is_new);
        let wrong = [
            (end == DeedEnd::Aborted, FindingKind::Aborted),
            (end == DeedEnd::Ignored, FindingKind::Ignored),
            (drops, FindingKind::Dropped),
            (hears && self.excess(&room.next), FindingKind::AnsweredAgain),
        ];
        for (is, what) in wrong {
            if is {
                self.fail(dispatch, what, Some(step));
            }
        }
        Ok((Some(number), is_new))
    }

    /// Meets the next situation. Returns whether it is new.
    fn meet(&mut self, room: &SearchRoom, step: u32) -> bool {
        let written = self.writer.write(&room.next, self.roots, &self.shapes);
        let (number, is_new) = self.seen.meet(digest_of_bytes(written));
        self.steps.add(step, number);
        if !is_new {
            return false;
        }
        self.line.push(written);
        let states = self.seen.len() as u64;
        let limits = [
            (
                states > self.limits.states.min(MOST_SITUATIONS - 1),
                LeftOut::States,
            ),
            (self.bytes() as u64 > self.limits.bytes, LeftOut::Memory),
        ];
        if let Some((_, limit)) = limits.into_iter().find(|(is_reached, _)| *is_reached) {
            self.leave_out(limit);
            self.full = true;
        }
        true
    }

    /// Nothing waits: an end that the caller looks at.
    fn rest(&mut self, dispatch: &mut Dispatch, here: &Situation) {
        self.counts.ends += 1;
        let is_owed = |(by, count): &(u32, usize)| here.heard_by(*by) < *count;
        if self.asked.wanted.iter().any(is_owed) {
            self.fail(dispatch, FindingKind::Unanswered, None);
        }
        if here
            .actors
            .iter()
            .any(|actor| self.shapes.of(actor.shape).keeps)
        {
            self.fail(dispatch, FindingKind::Stashed, None);
        }
        self.find(dispatch, FindingKind::Rest, None);
    }

    /// Something is wrong, unless that is allowed.
    fn fail(&mut self, dispatch: &mut Dispatch, what: FindingKind, step: Option<u32>) {
        if !self.asked.allowed.allows(what) && !self.failed {
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

    /// Returns whether somebody was answered more often than asked to be.
    fn excess(&self, situation: &Situation) -> bool {
        let is_exceeded = |(by, count): &(u32, usize)| situation.heard_by(*by) > *count;
        self.asked.wanted.iter().any(is_exceeded)
    }
}
