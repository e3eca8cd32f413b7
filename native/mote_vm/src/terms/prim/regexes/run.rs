//! Runs a program over a text: one way at a time, with a stack of those that are left.
//!
//! Invariants:
//! 1. What is done is counted: steps, bytes that are searched, items of sets. Nothing is done for each slot, item or group of a pattern
//!    that is not.
//! 2. A way that fails has given back to all slots what they had: so has an attempt that fails, and the next one undoes what a match
//!    has left.
use super::characters::{is_kind, other_case};
use super::nodes::{Anchor, CharacterKind, Greed};
use super::program::{One, RegexProgram, RegexStep};
use super::Unsure;
use crate::heap::Heap;

/// Steps between two counts.
const COUNTED: usize = 64;
/// Bytes that are searched or checked while one step is taken, and items of a set that are compared.
pub(super) const SEARCHED: usize = 32;
const COMPARED: usize = 4;
/// Ways that are left, at most.
const WAYS: usize = 1 << 20;
/// Looks and atomic groups in each other, at most: a pattern nests no deeper.
const NESTED: usize = 200;

enum Way {
    /// A slot gets back what it had.
    Slot(usize, usize),
    /// Goes on at a step and a place.
    On(usize, usize),
    /// A span that has taken up to a place gives back one character, down to another place.
    Less { step: usize, to: usize, at: usize },
    /// One that is lazy takes one more, so many at most.
    More { step: usize, at: usize, left: u32 },
}

pub(super) struct Matcher<'a> {
    pub(super) program: &'a RegexProgram,
    pub(super) text: &'a [u8],
    pub(super) heap: &'a mut Heap,
    /// The steps that are not counted yet.
    steps: usize,
    /// The slots of the last match: start and end of it and of each group come first.
    pub(super) slots: Vec<usize>,
    ways: Vec<Way>,
}

type Trial<T> = Result<Option<T>, Unsure>;

impl<'a> Matcher<'a> {
    pub(super) fn new(
        program: &'a RegexProgram,
        text: &'a [u8],
        heap: &'a mut Heap,
    ) -> Matcher<'a> {
        let slots = vec![usize::MAX; program.slots];
        Matcher {
            program,
            text,
            heap,
            steps: 0,
            slots,
            ways: Vec::new(),
        }
    }

    /// Returns the end of the first match at or behind a place; or, if it must be `here`, of one there that is not empty.
    pub(super) fn search(&mut self, from: usize, here: bool) -> Trial<usize> {
        let mut start = from;
        loop {
            if let Some(end) = self.attempt(start, here)? {
                self.slots[0] = start;
                self.slots[1] = end;
                return Ok(Some(end));
            }
            // Only a place behind the first one is left to be the start of the text.
            if here || self.program.anchored || start >= self.text.len() {
                return Ok(None);
            }
            start = self.next(start);
        }
    }

    fn attempt(&mut self, start: usize, here: bool) -> Trial<usize> {
        self.step()?;
        self.leave(0, true);
        let mut found = self.run(0, start, 0, 0)?;
        // Another way may take something.
        while here && found == Some(start) {
            found = match self.back(0)? {
                Some((pc, at)) => self.run(pc, at, 0, 0)?,
                None => None,
            };
        }
        Ok(found)
    }

    fn step(&mut self) -> Result<(), Unsure> {
        self.steps += 1;
        if self.steps >= COUNTED {
            self.heap.work.count(std::mem::take(&mut self.steps))?;
        }
        Ok(())
    }

    fn next(&mut self, at: usize) -> usize {
        match self.program.first {
            // The byte begins a character.
            Some(byte) => {
                let found = memchr::memchr(byte, &self.text[at + 1..])
                    .map_or(self.text.len(), |n| at + 1 + n);
                self.steps += (found - at) / SEARCHED;
                found
            }
            None => self.behind(at),
        }
    }

    /// The place behind the character at a place.
    pub(super) fn behind(&self, at: usize) -> usize {
        at + self.length(at)
    }

    /// Returns the length in bytes of the character at a place.
    fn length(&self, at: usize) -> usize {
        match self.text[at] {
            0xC0..=0xDF if self.program.unicode => 2,
            0xE0..=0xEF if self.program.unicode => 3,
            0xF0..=0xFF if self.program.unicode => 4,
            _ => 1,
        }
    }

    /// The character at a place, and where it ends.
    fn character(&self, at: usize) -> Option<(u32, usize)> {
        let byte = *self.text.get(at)?;
        let end = at + self.length(at);
        if end == at + 1 {
            return Some((byte.into(), end));
        }
        let bits = u32::from(byte) & (0x7F >> (end - at));
        let c = self.text[at + 1..end]
            .iter()
            .fold(bits, |c, b| c << 6 | u32::from(b & 0x3F));
        Some((c, end))
    }

    fn before(&self, at: usize) -> Option<usize> {
        let mut at = at.checked_sub(1)?;
        while self.program.unicode && self.text[at] & 0xC0 == 0x80 {
            at -= 1;
        }
        Some(at)
    }

    fn is_one(&mut self, one: &One, c: u32) -> Result<bool, Unsure> {
        let known = match one {
            One::Char(expected, false) => Some(c == *expected),
            One::Char(expected, true) => same(c, *expected, self.program.unicode),
            One::Any(all) => Some(*all || c != 10),
            One::Set(set) => {
                self.steps += set.items.len() / COMPARED;
                set.has(c, self.program.unicode)
            }
        };
        known.ok_or(Unsure::Unknown)
    }

    fn is_word(&self, at: Option<usize>) -> Result<bool, Unsure> {
        match at.and_then(|at| self.character(at)) {
            Some((c, _)) => {
                is_kind(CharacterKind::Word, c, self.program.unicode).ok_or(Unsure::Unknown)
            }
            None => Ok(false),
        }
    }

    fn is_at(&self, place: Anchor, at: usize) -> Result<bool, Unsure> {
        let end = self.text.len();
        Ok(match place {
            Anchor::Start => at == 0,
            // Not behind the last line.
            Anchor::LineStart => at == 0 || at < end && self.text[at - 1] == 10,
            Anchor::End => at == end || at + 1 == end && self.text[at] == 10,
            Anchor::LineEnd => at == end || self.text[at] == 10,
            Anchor::VeryEnd => at == end,
            Anchor::Word(between) => {
                (self.is_word(self.before(at))? != self.is_word(Some(at))?) == between
            }
        })
    }

    fn save(&mut self, slot: usize, at: usize) {
        self.ways.push(Way::Slot(slot, self.slots[slot]));
        self.slots[slot] = at;
    }

    /// From a step and a place to the end of the match, going back no further than to the first ways, so many as `base` says.
    fn run(&mut self, mut pc: usize, mut at: usize, base: usize, nested: usize) -> Trial<usize> {
        let program = self.program;
        if nested > NESTED {
            return Err(Unsure::Unknown);
        }
        loop {
            self.step()?;
            let on = match &program.steps[pc] {
                RegexStep::Matched => return Ok(Some(at)),
                RegexStep::One(one) => match self.character(at) {
                    Some((c, end)) if self.is_one(one, c)? => Some((pc + 1, end)),
                    _ => None,
                },
                RegexStep::Span {
                    one,
                    least,
                    most,
                    greed,
                } => self.span(pc, one, (*least, *most), *greed, at)?,
                RegexStep::Fork(first, second) => {
                    self.ways.push(Way::On(*second, at));
                    Some((*first, at))
                }
                RegexStep::Jump(to) => Some((*to, at)),
                RegexStep::Save(slot) => {
                    self.save(*slot, at);
                    Some((pc + 1, at))
                }
                RegexStep::Grouped(group, started) => {
                    self.save(2 * group, self.slots[*started]);
                    self.save(2 * group + 1, at);
                    Some((pc + 1, at))
                }
                RegexStep::Stuck(slot, to) if self.slots[*slot] == at => Some((*to, at)),
                RegexStep::Stuck(..) => Some((pc + 1, at)),
                RegexStep::At(place) => self.is_at(*place, at)?.then_some((pc + 1, at)),
                RegexStep::Back(n) => {
                    let mut back = Some(at);
                    for _ in 0..*n {
                        self.step()?;
                        back = back.and_then(|at| self.before(at));
                        if back.is_none() {
                            break;
                        }
                    }
                    back.map(|at| (pc + 1, at))
                }
                RegexStep::Again(group, caseless) => {
                    self.again(*group, *caseless, at)?.map(|at| (pc + 1, at))
                }
                RegexStep::Look { negated, end } => {
                    let kept = self.ways.len();
                    let found = self.run(pc + 1, at, kept, nested + 1)?;
                    self.leave(kept, *negated);
                    (found.is_some() != *negated).then_some((*end, at))
                }
                RegexStep::Atomic { end } => {
                    let kept = self.ways.len();
                    let found = self.run(pc + 1, at, kept, nested + 1)?;
                    self.leave(kept, false);
                    found.map(|at| (*end, at))
                }
            };
            if self.ways.len() > WAYS {
                return Err(Unsure::Unknown);
            }
            (pc, at) = match on {
                Some(on) => on,
                None => match self.back(base)? {
                    Some(on) => on,
                    None => return Ok(None),
                },
            };
        }
    }

    /// Forgets the ways since then, but for what slots have had; or gives it back to them.
    fn leave(&mut self, kept: usize, undone: bool) {
        if undone {
            for way in self.ways.drain(kept..).rev() {
                if let Way::Slot(slot, before) = way {
                    self.slots[slot] = before;
                }
            }
            return;
        }
        let mut to = kept;
        for at in kept..self.ways.len() {
            if matches!(self.ways[at], Way::Slot(..)) {
                self.ways.swap(to, at);
                to += 1;
            }
        }
        self.ways.truncate(to);
    }

    fn again(&mut self, group: usize, caseless: bool, at: usize) -> Trial<usize> {
        let (start, end) = (self.slots[2 * group], self.slots[2 * group + 1]);
        if end == usize::MAX {
            return Ok(None);
        }
        let (mut one, mut at) = (start, at);
        while one < end {
            self.step()?;
            let (expected, next) = self.character(one).expect("a group lies in the text");
            let Some((c, behind)) = self.character(at) else {
                return Ok(None);
            };
            if c != expected
                && !(caseless && same(c, expected, self.program.unicode).ok_or(Unsure::Unknown)?)
            {
                return Ok(None);
            }
            (one, at) = (next, behind);
        }
        Ok(Some(at))
    }

    fn span(
        &mut self,
        pc: usize,
        one: &One,
        bounds: (u32, u32),
        greed: Greed,
        start: usize,
    ) -> Trial<(usize, usize)> {
        let (least, most) = bounds;
        let mut at = start;
        for _ in 0..least {
            self.step()?;
            match self.character(at) {
                Some((c, end)) if self.is_one(one, c)? => at = end,
                _ => return Ok(None),
            }
        }
        if greed == Greed::Lazy {
            self.ways.push(Way::More {
                step: pc,
                at,
                left: most - least,
            });
            return Ok(Some((pc + 1, at)));
        }
        let to = at;
        let mut left = most - least;
        while left > 0 {
            self.step()?;
            match self.character(at) {
                Some((c, end)) if self.is_one(one, c)? => at = end,
                _ => break,
            }
            left -= 1;
        }
        if greed == Greed::Greedy && at > to {
            self.ways.push(Way::Less { step: pc, to, at });
        }
        Ok(Some((pc + 1, at)))
    }

    /// The next way that is left beyond the first ones.
    fn back(&mut self, base: usize) -> Trial<(usize, usize)> {
        while self.ways.len() > base {
            self.step()?;
            match self.ways.pop().expect("one is left") {
                Way::Slot(slot, before) => self.slots[slot] = before,
                Way::On(pc, at) => return Ok(Some((pc, at))),
                Way::Less { step, to, at } => {
                    let at = self.before(at).expect("a character has been taken");
                    if at > to {
                        self.ways.push(Way::Less { step, to, at });
                    }
                    return Ok(Some((step + 1, at)));
                }
                Way::More { step, at, left } if left > 0 => {
                    let RegexStep::Span { one, .. } = &self.program.steps[step] else {
                        unreachable!("only spans take more");
                    };
                    if let Some((c, end)) = self.character(at) {
                        if self.is_one(one, c)? {
                            self.ways.push(Way::More {
                                step,
                                at: end,
                                left: left - 1,
                            });
                            return Ok(Some((step + 1, end)));
                        }
                    }
                }
                Way::More { .. } => {}
            }
        }
        Ok(None)
    }
}

/// Returns whether two characters are the same but for their case.
fn same(a: u32, b: u32, unicode: bool) -> Option<bool> {
    if a == b {
        return Some(true);
    }
    // Of the two only one may be far away from ASCII: a pattern has no other letters there.
    let (a, b) = (a.max(b), a.min(b));
    match other_case(a, unicode) {
        Some(other) => {
            Some(other == b || unicode && b < 128 && a > 127 && other_case(b, unicode)? == other)
        }
        None if b < 128 => Some(false),
        None => None,
    }
}
