//! Looking at a situation: the steps that lead on from it.
//!
//! Invariants:
//! 1. What a look finds depends on the situation and on what is known (known.rs), and on nothing else: so it is the same whichever
//!    thread looks, and however many there are.
//! 2. A look that comes to a turn that is not known finds nothing: it is to be repeated when that has been run.
use super::compact::RoomyBytes;
use super::deeds::{DeedEnd, Deeds, MeetingRoom};
use super::digest::Digest;
use super::foretold::Foreteller;
use super::known::SearchKnowledge;
use super::likeness;
use super::numbering::Numbering;
use super::reduction::{Acquaintance, Choice};
use super::situation::Situation;
use super::written::{read, write};
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
    /// The digest of that situation, where its number was not foretold.
    pub(super) digest: Digest,
    /// What was foretold of it, where nothing was kept of that.
    pub(super) foretold: Option<Digest>,
    /// The places where that begins among the bytes, and where it ends: at 0 if it was not written.
    from: u32,
    end: u32,
    /// The flaw that was found there.
    pub(super) wrong: Option<FindingKind>,
}

/// The end of a look.
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
    /// The greatest number of turns has led to it.
    TooDeep,
    /// The turn of that event is not known.
    Unknown(u32),
}

/// A step that is to be taken.
struct Planned {
    at: u16,
    fate: EventFate,
    /// The number of what the turn does.
    deed: u32,
    /// The digest that was foretold for the next situation.
    foretold: Option<Digest>,
}

/// Steps of which something new was foretold and that nobody has taken up yet, by some bits of that: the last one each.
struct LatestSteps(Box<[u32; LATEST]>);

const LATEST: usize = 1 << 12;

impl Default for LatestSteps {
    fn default() -> LatestSteps {
        LatestSteps(Box::new([0; LATEST]))
    }
}

impl LatestSteps {
    /// The digest of what was foretold so, if that is so of one of the steps. What was kept of others is none of them.
    #[inline]
    fn get(&self, foretold: Digest, steps: &[FoundStep]) -> Option<Digest> {
        let step = steps.get(self.0[foretold[1] as usize % LATEST] as usize)?;
        (step.foretold == Some(foretold)).then_some(step.digest)
    }

    fn put(&mut self, foretold: Digest, step: usize) {
        self.0[foretold[1] as usize % LATEST] = step as u32;
    }
}

/// Looks at situations, and keeps what it has found in some of them.
#[derive(Default)]
pub(super) struct Looker {
    pub(super) here: Situation,
    next: Situation,
    enabled: Vec<u16>,
    choices: Vec<Choice>,
    planned: Vec<Planned>,
    acquaintance: Acquaintance,
    meeting: MeetingRoom,
    foreteller: Foreteller,
    numbering: Numbering,
    latest: LatestSteps,
    /// The steps of all situations that were looked at since the last time that it was cleared, and where each leads.
    pub(super) steps: Vec<FoundStep>,
    bytes: RoomyBytes,
    views: Vec<[u64; 2]>,
    /// For each situation its place in the batch, where its steps begin, and how the look has ended.
    pub(super) looked: Vec<(u32, u32, LookEnd)>,
}

impl Looker {
    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.bytes.truncate(0);
        self.views.clear();
        self.looked.clear();
    }

    /// The situation that a step leads to, written down; `here`: the one from which it leads.
    pub(super) fn written(&mut self, known: &SearchKnowledge, here: &[u8], at: usize) -> &[u8] {
        if self.steps[at].end == 0 {
            // It was come to before, by a step that comes later, or by one that was forgotten.
            read(here, &known.shapes, &mut self.here);
            let (event, fate) = opened(self.steps[at].step);
            let deed = self.deed(known, event, fate).unwrap_or(Deeds::NOTHING);
            self.go(known, event, fate, deed);
            let (from, digest) = self.write(known);
            debug_assert_eq!(digest, self.steps[at].digest);
            (self.steps[at].from, self.steps[at].end) = (from as u32, self.bytes.len() as u32);
        }
        let FoundStep { from, end, .. } = self.steps[at];
        self.bytes.written(from as usize, end as usize)
    }

    /// Returns the views at a step, if anybody looks.
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
        self.here.enabled(&mut enabled);
        self.foreteller.prepare(&self.here, known.roots);
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
            if known.is_seen(choice) || !self.acquaintance.allows(&self.here, choice) {
                continue;
            }
            if self.choose(known, choice)? {
                return Ok(());
            }
            enabled.retain(|at| !choice.events.contains(at));
        }
        self.take_all(known, enabled)
    }

    /// Takes the steps of a choice. Returns whether they suffice (reduction.rs).
    fn choose(&mut self, known: &SearchKnowledge, choice: &Choice) -> Result<bool, usize> {
        let (mut suffices, from) = (true, self.steps.len());
        self.take_all(known, &choice.events)?;
        for planned in &self.planned {
            let deed = known.deeds.of(planned.deed);
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
        let mut steps = self.steps[from..].iter();
        Ok(suffices && steps.any(|step| known.is_further(step)))
    }

    /// Takes all steps of some events. What is foretold is called for before it is looked up.
    fn take_all(&mut self, known: &SearchKnowledge, events: &[u16]) -> Result<(), usize> {
        let mut planned = std::mem::take(&mut self.planned);
        planned.clear();
        for at in events {
            for fate in known.fates(&self.here, *at) {
                match self.plan(known, *at, fate) {
                    Some(step) => planned.push(step),
                    None => return Err((*at).into()),
                }
            }
        }
        planned.iter().for_each(|step| self.take(known, step));
        self.planned = planned;
        Ok(())
    }

    /// The number of what the turn of a step does, if it is known.
    fn deed(&mut self, known: &SearchKnowledge, event: usize, fate: EventFate) -> Option<u32> {
        match fate {
            EventFate::Lost | EventFate::Aborted | EventFate::Fires => Some(Deeds::NOTHING),
            EventFate::Runs | EventFate::Twice => {
                known.deeds.find(&self.here, event, &mut self.meeting)
            }
        }
    }

    /// Foretells where a step leads; `None` if its turn is not known.
    fn plan(&mut self, known: &SearchKnowledge, at: u16, fate: EventFate) -> Option<Planned> {
        let event = usize::from(at);
        let deed = self.deed(known, event, fate)?;
        let foretold = match fate {
            EventFate::Twice | EventFate::Fires => None,
            _ => {
                let (here, deed) = (&self.here, known.deeds.of(deed));
                self.foreteller.foretell(here, event, deed, &known.shapes)
            }
        };
        if let Some(foretold) = foretold {
            known.outcomes.prefetch(foretold);
        }
        Some(Planned {
            at,
            fate,
            deed,
            foretold,
        })
    }

    /// Takes one step.
    fn take(&mut self, known: &SearchKnowledge, planned: &Planned) {
        let Planned { fate, foretold, .. } = *planned;
        let (at, deed) = (usize::from(planned.at), known.deeds.of(planned.deed));
        if deed.end == DeedEnd::Broken {
            return;
        }
        let to = foretold.and_then(|foretold| known.outcomes.get(foretold));
        let latest = match to {
            Some(_) => None,
            None => foretold.and_then(|foretold| self.latest.get(foretold, &self.steps)),
        };
        let is_told = to.is_some() || latest.is_some();
        if !is_told || known.has_views() {
            self.go(known, at, fate, planned.deed);
        }
        let (from, end, digest) = match is_told {
            true => (0, 0, latest.unwrap_or_default()),
            false => {
                let (from, digest) = self.write(known);
                known.seen.prefetch(digest);
                (from, self.bytes.len(), digest)
            }
        };
        if cfg!(debug_assertions) && is_told {
            self.go(known, at, fate, planned.deed);
            let (from, made_out) = self.write(known);
            self.bytes.truncate(from);
            let told = to.map_or(digest, |number| known.seen.digest(number));
            assert_eq!(made_out, told, "foretold.rs, invariant 1");
        }
        let foretold = foretold.filter(|_| !is_told);
        if let Some(foretold) = foretold {
            self.latest.put(foretold, self.steps.len());
        }
        let wrong = [
            (deed.end == DeedEnd::Aborted, FindingKind::Aborted),
            (deed.end == DeedEnd::Ignored, FindingKind::Ignored),
            (deed.drops, FindingKind::Dropped),
            (
                !deed.heard.is_empty() && known.is_excess(&self.here, deed),
                FindingKind::AnsweredAgain,
            ),
        ];
        let is_wrong = |(is, what): &(bool, FindingKind)| *is && !known.asked.allowed.allows(*what);
        self.steps.push(FoundStep {
            step: step(at, fate),
            to: to.unwrap_or(NEW),
            digest,
            foretold,
            from: from as u32,
            end: end as u32,
            wrong: wrong.into_iter().find(is_wrong).map(|(_, what)| what),
        });
        if known.has_views() {
            self.views.push(known.views(&self.next));
        }
    }

    /// Goes to the situation that a step leads to; `deed`: the number of what the turn does.
    fn go(&mut self, known: &SearchKnowledge, at: usize, fate: EventFate, deed: u32) {
        let (here, deed) = (&self.here, known.deeds.of(deed));
        match fate {
            EventFate::Fires => self.next.after_firing(here, at, &known.shapes),
            _ => {
                let comes_again = fate == EventFate::Twice;
                self.next.after(here, at, deed, comes_again, &known.shapes);
            }
        }
    }

    /// Writes the situation down that it went to. Where that begins, and its digest.
    fn write(&mut self, known: &SearchKnowledge) -> (usize, Digest) {
        let (from, shapes) = (self.bytes.len(), &known.shapes);
        self.numbering.number(&self.next, known.roots, shapes);
        write(&self.next, &self.numbering, shapes, &mut self.bytes);
        (from, likeness::digest(&self.next, &self.numbering, shapes))
    }

    /// Looks up which of the situations that were come to are known.
    pub(super) fn look_up(&mut self, known: &SearchKnowledge, from: usize) {
        let steps = &mut self.steps[from..];
        for at in 0..steps.len() {
            if let Some(step) = steps.get(at + AHEAD) {
                if step.to == NEW {
                    known.seen.prefetch_digest(step.digest);
                }
            }
            let step = &mut steps[at];
            if step.to == NEW {
                step.to = known.seen.number(step.digest).unwrap_or(NEW);
            }
        }
    }
}
