//! What a search knows while it looks at situations: it does not change until all of a batch were looked at. So any number of
//! threads look at once, and none waits for another.
//!
//! Invariants:
//! 1. All situations that as many turns lead to as to the one that is looked at, or fewer, are in `seen`, with numbers below
//!    `deeper_from`. So whether a step leads further does not depend on what else is looked at meanwhile.
use super::deeds::{Deed, DeedEnd, Deeds};
use super::digest::mixed;
use super::looking::{FoundStep, NEW};
use super::outcomes::Outcomes;
use super::parts::{Components, TooLarge};
use super::reduction::Choice;
use super::seen::KnownSituations;
use super::sent_by::SentBy;
use super::shapes::Shapes;
use super::situation::{Situation, WaitingEvent};
use super::{Allowed, LeftOut, Limits};
use crate::threads::seeded::EventFate;
use crate::threads::thread::Dispatch;
use smallvec::SmallVec;

/// The goal of a search.
pub(super) struct Sought {
    /// The foreign values that are asked to be answered, and how often.
    pub(super) wanted: Vec<(u32, usize)>,
    /// The actors that somebody looks at, by their numbers.
    pub(super) watched: Vec<u32>,
    /// The actors whose states tell whether a goal is reached; none if nothing is a goal.
    pub(super) goals: Vec<u32>,
    /// The actors whose messages get lost, or come twice, and whose turns are aborted.
    pub(super) faults: [(EventFate, Vec<u32>); 3],
    pub(super) allowed: Allowed,
}

/// See the head of this file.
pub(super) struct SearchKnowledge {
    pub(super) limits: Limits,
    pub(super) asked: Sought,
    /// The number of actors that the outside holds.
    pub(super) roots: usize,
    pub(super) shapes: Shapes,
    pub(super) parts: Components,
    pub(super) deeds: Deeds,
    pub(super) seen: KnownSituations,
    pub(super) outcomes: Outcomes,
    /// The number of turns that lead to the situations that are looked at, and the number of the first one that more lead
    /// to.
    pub(super) depth: u32,
    pub(super) deeper_from: u32,
    /// Some actor arms timers for itself.
    pub(super) arms_again: bool,
}

impl SearchKnowledge {
    /// Returns the possible fates of an event.
    pub(super) fn fates(&self, here: &Situation, at: u16) -> SmallVec<[EventFate; 4]> {
        let WaitingEvent { target, sender, .. } = here.pending[usize::from(at)];
        if sender == SentBy::ARMED {
            return SmallVec::from_slice(&[EventFate::Fires]);
        }
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

    /// Returns whether the order of these turns among those of other actors is seen: what one of several watched actors becomes.
    pub(super) fn is_seen(&self, choice: &Choice) -> bool {
        let watched = &self.asked.watched;
        watched.len() > 1 && watched.contains(&choice.target)
    }

    /// Returns digests of the watched actors, and of those that tell of goals.
    pub(super) fn views(&self, situation: &Situation) -> [u64; 2] {
        [&self.asked.watched, &self.asked.goals].map(|actors| self.view(situation, actors))
    }

    pub(super) fn has_views(&self) -> bool {
        !self.asked.watched.is_empty() || !self.asked.goals.is_empty()
    }

    /// Returns a digest of some actors. Others that they know of count as one, but for those that the outside holds.
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

    /// Returns whether somebody is answered by a turn more often than asked to be.
    pub(super) fn is_excess(&self, here: &Situation, deed: &Deed) -> bool {
        let is_exceeded = |(by, count): &(u32, usize)| {
            let heard = deed.heard.iter().filter(|(other, _)| other == by);
            !here.ended.contains(by) && here.heard_by(*by) + heard.count() > *count
        };
        self.asked.wanted.iter().any(is_exceeded)
    }

    /// Returns whether a situation that a step leads to is one that more turns lead to than to the one that is looked at.
    pub(super) fn is_further(&self, step: &FoundStep) -> bool {
        let number = match step.to {
            NEW => self.seen.number(step.digest),
            known => Some(known),
        };
        number.is_none_or(|number| number >= self.deeper_from)
    }

    /// Runs a turn that is not known, and notes what it does. What it does that a search does not vary.
    pub(super) fn act_out(
        &mut self,
        dispatch: &mut Dispatch,
        situation: &Situation,
        event: usize,
    ) -> SmallVec<[LeftOut; 4]> {
        let kept = (&mut self.shapes, &mut self.parts);
        let acted = dispatch.act_out(situation, event, self.limits.ordered, kept);
        let is_too_large = acted.is_err();
        let deed = acted.unwrap_or_else(|TooLarge| Deed::nothing(DeedEnd::Broken));
        let all = [
            (deed.draws, LeftOut::Random),
            (deed.asks, LeftOut::Clock),
            (deed.arms_others, LeftOut::Timers),
            (is_too_large, LeftOut::Size),
            (
                deed.end == DeedEnd::Broken && !is_too_large,
                LeftOut::Memory,
            ),
        ];
        self.arms_again |= deed.arms_its_own();
        self.deeds.note(situation, event, deed);
        let left_out = all.into_iter().filter(|(is, _)| *is);
        left_out.map(|(_, what)| what).collect()
    }
}
