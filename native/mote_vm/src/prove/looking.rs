//! Looking at a situation: the steps that lead on from it.
//!
//! Invariants:
//! 1. What a look finds depends on the situation and on what is known (known.rs), and on nothing else: so it is the same whichever
//!    thread looks, and however many there are.
//! 2. A look that comes to a turn that is not known finds nothing: it is to be repeated when that has been run.
use super::compact::RoomyBytes;
use super::deeds::{DeedEnd, Deeds, MeetingRoom};
use super::digest::{digest_of_bytes, Digest};
use super::known::SearchKnowledge;
use super::reduction::{Acquaintance, Choice};
use super::situation::Situation;
use super::written::{read, SituationWriter};
use super::FindingKind;
use crate::threads::seeded::EventFate;

/// Events that may wait in one situation, and words that it may have.
pub(super) const MOST_WAITING: usize = 1_000;
const LARGEST: usize = 1 << 16;

/// Steps between one whose place in a table is called for and the one that is looked up.
const AHEAD: usize = 8;

/// A step, as a number: an event, and its fate.
fn step(event: usize, fate: EventFate) -> u32 {
    (fate as u32) * MOST_WAITING as u32 + event as u32
}

/// The event of a step, and its fate.
pub(super) fn opened(step: u32) -> (usize, EventFate) {
    let step = step as usize;
    (step % MOST_WAITING, EventFate::ALL[step / MOST_WAITING])
}

/// The place of a situation that was not known when it was come to.
pub(super) const NEW: u32 = u32::MAX;

/// A step that was found.
#[derive(Clone, Copy)]
pub(super) struct FoundStep {
    pub(super) step: u32,
    /// The number of the situation that it leads to, or [`NEW`].
    pub(super) to: u32,
    pub(super) digest: Digest,
    /// Where that begins among the bytes, and where it ends.
    from: u32,
    end: u32,
    /// What is wrong there.
    pub(super) wrong: Option<FindingKind>,
}

/// How a look has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LookEnd {
    /// These steps, up to that one, lead on.
    Leads(u32),
    /// Nothing waits.
    Rests,
    /// Nothing waits but for ends of processes, to which these steps lead on, up to that one.
    MayRest(u32),
    /// It has too much to look at.
    TooLarge,
    /// As many turns have led to it as may.
    TooDeep,
    /// The turn of that event is not known.
    Unknown(u32),
}

/// Looks at situations, and keeps what it has found in some of them.
#[derive(Default)]
pub(super) struct Looker {
    pub(super) here: Situation,
    next: Situation,
    enabled: Vec<u16>,
    choices: Vec<Choice>,
    acquaintance: Acquaintance,
    meeting: MeetingRoom,
    pub(super) writer: SituationWriter,
    /// The steps of all situations that were looked at since the last time that it was cleared, and where each leads.
    pub(super) steps: Vec<FoundStep>,
    bytes: RoomyBytes,
    views: Vec<[u64; 2]>,
    /// Of each situation its place in the batch, where its steps begin, and how the look has ended.
    pub(super) looked: Vec<(u32, u32, LookEnd)>,
}

impl Looker {
    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.bytes.truncate(0);
        self.views.clear();
        self.looked.clear();
    }

    /// The situation that a step leads to, written down.
    pub(super) fn written(&self, step: &FoundStep) -> &[u8] {
        self.bytes.written(step.from as usize, step.end as usize)
    }

    /// What is seen there, if anybody looks.
    pub(super) fn views(&self, step: usize) -> Option<[u64; 2]> {
        self.views.get(step).copied()
    }

    /// Looks at a situation: its steps are added to those that are there.
    pub(super) fn look_at(&mut self, known: &SearchKnowledge, written: &[u8]) -> LookEnd {
        read(written, &known.shapes, &mut self.here);
        if self.here.pending.is_empty() {
            return LookEnd::Rests;
        }
        if self.here.pending.len() > MOST_WAITING || self.here.size() > LARGEST {
            return LookEnd::TooLarge;
        }
        if known.depth >= known.limits.depth {
            return LookEnd::TooDeep;
        }
        let (steps, bytes, views) = (self.steps.len(), self.bytes.len(), self.views.len());
        match self.find_steps(known) {
            Ok(()) if self.here.rests(&known.shapes) => LookEnd::MayRest(self.steps.len() as u32),
            Ok(()) => LookEnd::Leads(self.steps.len() as u32),
            Err(event) => {
                self.steps.truncate(steps);
                self.bytes.truncate(bytes);
                self.views.truncate(views);
                LookEnd::Unknown(event as u32)
            }
        }
    }

    /// Finds the steps; or the event whose turn is not known.
    fn find_steps(&mut self, known: &SearchKnowledge) -> Result<(), usize> {
        let mut enabled = std::mem::take(&mut self.enabled);
        self.here.enabled(&known.shapes, &mut enabled);
        let mut choices = std::mem::take(&mut self.choices);
        choices.clear();
        if known.limits.reduces && enabled.len() > 1 {
            self.acquaintance
                .choices(&self.here, &known.shapes, &enabled, &mut choices);
        }
        let found = self.take_choices(known, &mut enabled, &choices);
        (self.enabled, self.choices) = (enabled, choices);
        found
    }

    fn take_choices(
        &mut self,
        known: &SearchKnowledge,
        enabled: &mut Vec<u16>,
        choices: &[Choice],
    ) -> Result<(), usize> {
        for choice in choices {
            if known.is_seen(choice) {
                continue;
            }
            if self.choose(known, choice)? {
                return Ok(());
            }
            enabled.retain(|at| !choice.events.contains(at));
        }
        for at in enabled {
            for fate in known.fates(&self.here, *at) {
                self.take(known, (*at).into(), fate)?;
            }
        }
        Ok(())
    }

    /// Takes the steps of a choice. Returns whether they suffice (reduction.rs).
    fn choose(&mut self, known: &SearchKnowledge, choice: &Choice) -> Result<bool, usize> {
        let (mut suffices, from) = (true, self.steps.len());
        for at in &choice.events {
            for fate in known.fates(&self.here, *at) {
                let deed = self.take(known, usize::from(*at), fate)?;
                let deed = known.deeds.of(deed);
                // What is armed when is seen by whatever else arms, and by what fires.
                suffices &= deed.timers.is_empty();
                let mut heard = deed.heard.iter();
                suffices &= !heard.any(|(by, _)| {
                    let Looker {
                        acquaintance, here, ..
                    } = self;
                    acquaintance.others_may_tell(here, &known.shapes, choice, *by)
                });
            }
        }
        let mut steps = self.steps[from..].iter();
        Ok(suffices && steps.any(|step| known.is_further(step.digest)))
    }

    /// Takes one step. The number of what the turn does.
    fn take(&mut self, known: &SearchKnowledge, at: usize, fate: EventFate) -> Result<u32, usize> {
        let number = match fate {
            EventFate::Lost | EventFate::Aborted | EventFate::Fires => Deeds::NOTHING,
            EventFate::Runs | EventFate::Twice => {
                let found = known.deeds.find(&self.here, at, &mut self.meeting);
                found.ok_or(at)?
            }
        };
        let deed = known.deeds.of(number);
        if deed.end == DeedEnd::Broken {
            return Ok(number);
        }
        match fate {
            EventFate::Fires => self.next.after_firing(&self.here, at, &known.shapes),
            _ => self.next.after(
                &self.here,
                at,
                deed,
                fate == EventFate::Twice,
                &known.shapes,
            ),
        }
        let from = self.bytes.len();
        self.writer
            .write(&self.next, known.roots, &known.shapes, &mut self.bytes);
        let digest = digest_of_bytes(self.bytes.written(from, self.bytes.len()));
        known.seen.prefetch(digest);
        let wrong = [
            (deed.end == DeedEnd::Aborted, FindingKind::Aborted),
            (deed.end == DeedEnd::Ignored, FindingKind::Ignored),
            (deed.drops, FindingKind::Dropped),
            (
                !deed.heard.is_empty() && known.is_excess(&self.next),
                FindingKind::AnsweredAgain,
            ),
        ];
        let is_wrong = |(is, what): &(bool, FindingKind)| *is && !known.asked.allowed.allows(*what);
        self.steps.push(FoundStep {
            step: step(at, fate),
            to: NEW,
            digest,
            from: from as u32,
            end: self.bytes.len() as u32,
            wrong: wrong.into_iter().find(is_wrong).map(|(_, what)| what),
        });
        if known.has_views() {
            self.views.push(known.views(&self.next));
        }
        Ok(number)
    }

    /// Looks up which of the situations that were come to are known.
    pub(super) fn look_up(&mut self, known: &SearchKnowledge, from: usize) {
        let steps = &mut self.steps[from..];
        for at in 0..steps.len() {
            if let Some(step) = steps.get(at + AHEAD) {
                known.seen.prefetch_digest(step.digest);
            }
            let step = &mut steps[at];
            step.to = known.seen.number(step.digest).unwrap_or(NEW);
        }
    }
}
