//! What a pattern consists of.
use std::rc::Rc;

/// Kinds of characters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CharacterKind {
    Alpha,
    Blank,
    Control,
    Digit,
    Graph,
    Lower,
    Print,
    Punct,
    Space,
    Upper,
    Vertical,
    Word,
    Hex,
    Alnum,
    Ascii,
}

#[derive(Clone, Debug)]
pub(super) enum Item {
    Range(u32, u32),
    /// A kind, or everything else.
    Kind(CharacterKind, bool),
}

/// One character of a set, or of none of it.
#[derive(Clone, Debug)]
pub(super) struct CharacterSet {
    pub(super) items: Vec<Item>,
    pub(super) negated: bool,
    pub(super) caseless: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    /// The start of the text, or of any line.
    Start,
    LineStart,
    /// The end, also before a last line feed; the end of any line; and the very end.
    End,
    LineEnd,
    VeryEnd,
    /// Between a character of a word and another one, or not.
    Word(bool),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Greed {
    Greedy,
    Lazy,
    /// It never gives back characters that it has taken.
    Possessive,
}

#[derive(Clone, Debug)]
pub(super) enum RegexNode {
    Char(u32, bool),
    /// Any character, also a line feed.
    Any(bool),
    /// Shared by all repetitions.
    Set(Rc<CharacterSet>),
    Place(Anchor),
    Group(usize, Box<RegexNode>),
    All(Vec<RegexNode>),
    Either(Vec<RegexNode>),
    Repeat {
        node: Box<RegexNode>,
        least: u32,
        most: u32,
        greed: Greed,
    },
    Look {
        behind: bool,
        negated: bool,
        node: Box<RegexNode>,
    },
    Again(usize, bool),
    Atomic(Box<RegexNode>),
}

/// A pattern, with its groups and their names.
pub(super) struct Parsed {
    pub(super) node: RegexNode,
    pub(super) groups: usize,
    pub(super) names: Vec<(Vec<u8>, usize)>,
    pub(super) unicode: bool,
    /// Carriage returns end lines, too.
    pub(super) returns: bool,
}

/// No upper bound on repetitions.
pub(super) const ENDLESS: u32 = u32::MAX;
