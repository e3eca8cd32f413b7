//! What a pattern consists of -> instructions.
use super::nodes::{Anchor, CharacterSet, Greed, Parsed, RegexNode, ENDLESS};
use std::rc::Rc;

/// A program is no longer than this: repeated parts are written out.
pub(super) const INSTRUCTIONS: usize = 20_000;

/// One character.
pub(super) enum One {
    Char(u32, bool),
    Any(bool),
    Set(Rc<CharacterSet>),
}

pub(super) enum RegexStep {
    One(One),
    /// Takes as many of a character as there are, within these bounds.
    Span {
        one: One,
        least: u32,
        most: u32,
        greed: Greed,
    },
    /// Goes on with the first, and where that fails with the second.
    Fork(usize, usize),
    Jump(usize),
    Save(usize),
    /// The end of a group, whose start is in a slot.
    Grouped(usize, usize),
    /// Goes on elsewhere if the place is that of a slot: a repeated part that was empty ends its loop.
    Stuck(usize, usize),
    At(Anchor),
    /// The steps up to `end` must match, or must not, without taking anything.
    Look {
        negated: bool,
        end: usize,
    },
    /// The steps up to `end`, as they match first.
    Atomic {
        end: usize,
    },
    /// Goes back by so many characters.
    Back(usize),
    Again(usize, bool),
    Matched,
}

pub(super) struct RegexProgram {
    pub(super) steps: Vec<RegexStep>,
    /// Places that are kept: two for each group, then where groups and loops have begun.
    pub(super) slots: usize,
    pub(super) groups: usize,
    pub(super) names: Vec<(Vec<u8>, usize)>,
    pub(super) unicode: bool,
    pub(super) returns: bool,
    /// The byte that every match begins with.
    pub(super) first: Option<u8>,
    /// A match begins at the start of the text.
    pub(super) anchored: bool,
}

pub(super) fn program(parsed: &Parsed) -> Option<RegexProgram> {
    let groups = parsed.groups + 1;
    let mut made = RegexProgram {
        steps: Vec::new(),
        slots: 2 * groups,
        groups,
        names: parsed.names.clone(),
        unicode: parsed.unicode,
        returns: parsed.returns,
        first: first(&parsed.node, parsed.unicode),
        anchored: anchored(&parsed.node),
    };
    made.node(&parsed.node)?;
    made.push(RegexStep::Matched)?;
    Some(made)
}

fn first(node: &RegexNode, unicode: bool) -> Option<u8> {
    match node {
        RegexNode::Char(c, caseless) if !caseless => match unicode {
            true => char::from_u32(*c).map(|c| c.encode_utf8(&mut [0; 4]).as_bytes()[0]),
            false => u8::try_from(*c).ok(),
        },
        RegexNode::All(nodes) => first(nodes.first()?, unicode),
        RegexNode::Group(_, node) | RegexNode::Atomic(node) => first(node, unicode),
        RegexNode::Repeat { node, least, .. } if *least > 0 => first(node, unicode),
        _ => None,
    }
}

fn anchored(node: &RegexNode) -> bool {
    match node {
        RegexNode::Place(Anchor::Start) => true,
        RegexNode::All(nodes) => nodes.first().is_some_and(anchored),
        RegexNode::Either(nodes) => nodes.iter().all(anchored),
        RegexNode::Group(_, node) | RegexNode::Atomic(node) => anchored(node),
        _ => false,
    }
}

/// Characters that are looked for behind a place, at most: each look walks over them.
const MOST_BEHIND: usize = 255;

/// Returns how many characters it takes, if that is always the same, and no more than are looked for behind a place.
fn width(node: &RegexNode) -> Option<usize> {
    match node {
        RegexNode::Char(..) | RegexNode::Any(_) | RegexNode::Set(_) => Some(1),
        RegexNode::Place(_) | RegexNode::Look { .. } => Some(0),
        RegexNode::Group(_, node) | RegexNode::Atomic(node) => width(node),
        RegexNode::All(nodes) => {
            let widths: Option<usize> = nodes.iter().map(width).sum();
            widths.filter(|width| *width <= MOST_BEHIND)
        }
        RegexNode::Either(nodes) => {
            let widths: Option<Vec<_>> = nodes.iter().map(width).collect();
            let widths = widths?;
            widths
                .windows(2)
                .all(|pair| pair[0] == pair[1])
                .then(|| widths[0])
        }
        RegexNode::Repeat {
            node, least, most, ..
        } if least == most => {
            let width = width(node)?.checked_mul(*least as usize)?;
            (width <= MOST_BEHIND).then_some(width)
        }
        RegexNode::Repeat { .. } | RegexNode::Again(..) => None,
    }
}

impl RegexProgram {
    fn push(&mut self, step: RegexStep) -> Option<usize> {
        self.steps.push(step);
        (self.steps.len() <= INSTRUCTIONS).then(|| self.steps.len() - 1)
    }

    fn here(&self) -> usize {
        self.steps.len()
    }

    fn node(&mut self, node: &RegexNode) -> Option<()> {
        match node {
            RegexNode::Char(..) | RegexNode::Any(_) | RegexNode::Set(_) => {
                self.push(RegexStep::One(one(node)?))?;
            }
            RegexNode::Place(place) => {
                self.push(RegexStep::At(*place))?;
            }
            RegexNode::Group(group, node) => {
                // The start counts only once the end is there: until then the group is what it was before.
                let started = self.slots;
                self.slots += 1;
                self.push(RegexStep::Save(started))?;
                self.node(node)?;
                self.push(RegexStep::Grouped(*group, started))?;
            }
            RegexNode::All(nodes) => {
                for node in nodes {
                    self.node(node)?;
                }
            }
            RegexNode::Either(nodes) => self.either(nodes)?,
            RegexNode::Repeat {
                node,
                least,
                most,
                greed,
            } => self.repeat(node, *least, *most, *greed)?,
            RegexNode::Look {
                behind,
                negated,
                node,
            } => {
                let look = self.push(RegexStep::Look {
                    negated: *negated,
                    end: 0,
                })?;
                match (behind, &**node) {
                    (false, node) => self.node(node)?,
                    (true, RegexNode::Either(nodes)) => {
                        let nodes: Option<Vec<_>> = nodes
                            .iter()
                            .map(|node| Some((node, width(node)?)))
                            .collect();
                        self.behind(&nodes?)?;
                    }
                    (true, node) => self.behind(&[(node, width(node)?)])?,
                }
                self.push(RegexStep::Matched)?;
                self.steps[look] = RegexStep::Look {
                    negated: *negated,
                    end: self.here(),
                };
            }
            RegexNode::Again(group, caseless) => {
                self.push(RegexStep::Again(*group, *caseless))?;
            }
            RegexNode::Atomic(node) => {
                let atomic = self.push(RegexStep::Atomic { end: 0 })?;
                self.node(node)?;
                self.push(RegexStep::Matched)?;
                self.steps[atomic] = RegexStep::Atomic { end: self.here() };
            }
        }
        Some(())
    }

    fn either(&mut self, nodes: &[RegexNode]) -> Option<()> {
        let mut ends = Vec::new();
        for (i, node) in nodes.iter().enumerate() {
            if i + 1 == nodes.len() {
                self.node(node)?;
                break;
            }
            let fork = self.push(RegexStep::Fork(0, 0))?;
            self.node(node)?;
            ends.push(self.push(RegexStep::Jump(0))?);
            self.steps[fork] = RegexStep::Fork(fork + 1, self.here());
        }
        for end in ends {
            self.steps[end] = RegexStep::Jump(self.here());
        }
        Some(())
    }

    fn behind(&mut self, nodes: &[(&RegexNode, usize)]) -> Option<()> {
        let mut ends = Vec::new();
        for (i, (node, width)) in nodes.iter().enumerate() {
            let fork = if i + 1 < nodes.len() {
                Some(self.push(RegexStep::Fork(0, 0))?)
            } else {
                None
            };
            self.push(RegexStep::Back(*width))?;
            self.node(node)?;
            if let Some(fork) = fork {
                ends.push(self.push(RegexStep::Jump(0))?);
                self.steps[fork] = RegexStep::Fork(fork + 1, self.here());
            }
        }
        for end in ends {
            self.steps[end] = RegexStep::Jump(self.here());
        }
        Some(())
    }

    fn repeat(&mut self, node: &RegexNode, least: u32, most: u32, greed: Greed) -> Option<()> {
        if let Some(one) = one(node) {
            self.push(RegexStep::Span {
                one,
                least,
                most,
                greed,
            })?;
            return Some(());
        }
        if greed == Greed::Possessive {
            let node = Box::new(node.clone());
            let inner = RegexNode::Repeat {
                node,
                least,
                most,
                greed: Greed::Greedy,
            };
            return self.node(&RegexNode::Atomic(Box::new(inner)));
        }
        for _ in 0..least {
            let before = self.here();
            self.node(node)?;
            // What has no steps has none however often it is repeated.
            if self.here() == before {
                break;
            }
        }
        let fork = |body, behind| match greed {
            Greed::Lazy => RegexStep::Fork(behind, body),
            _ => RegexStep::Fork(body, behind),
        };
        if most == ENDLESS {
            let slot = self.slots;
            self.slots += 1;
            let start = self.push(RegexStep::Fork(0, 0))?;
            self.push(RegexStep::Save(slot))?;
            self.node(node)?;
            let behind = self.here() + 2;
            self.push(RegexStep::Stuck(slot, behind))?;
            self.push(RegexStep::Jump(start))?;
            self.steps[start] = fork(start + 1, behind);
        } else {
            let mut forks = Vec::new();
            for _ in least..most {
                forks.push(self.push(RegexStep::Fork(0, 0))?);
                self.node(node)?;
            }
            for at in forks {
                self.steps[at] = fork(at + 1, self.here());
            }
        }
        Some(())
    }
}

fn one(node: &RegexNode) -> Option<One> {
    match node {
        RegexNode::Char(c, caseless) => Some(One::Char(*c, *caseless)),
        RegexNode::Any(all) => Some(One::Any(*all)),
        RegexNode::Set(set) => Some(One::Set(set.clone())),
        _ => None,
    }
}
