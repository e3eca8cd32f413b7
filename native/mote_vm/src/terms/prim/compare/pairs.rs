//! The parts of two terms that are compared with each other, pair by pair.
use super::Comparison;
use crate::terms::map::{entries, Node};
use crate::values::value::Value;
use std::borrow::Cow;

/// Entries of large maps that are taken together: what comes behind a difference is not looked at.
const SOME: usize = 64;

/// Pairs of values that wait to be compared, from `at` on.
pub(super) struct Pairs<'h> {
    left: Cow<'h, [Value]>,
    right: Cow<'h, [Value]>,
    at: usize,
    pub(super) question: Comparison,
    /// Values that come behind these.
    rest: Option<Box<PairsLeft<'h>>>,
}

/// Values still to be taken from two large maps of the same size.
struct PairsLeft<'h> {
    left: Box<dyn Iterator<Item = Value> + 'h>,
    right: Box<dyn Iterator<Item = Value> + 'h>,
}

impl<'h> Pairs<'h> {
    /// Values that lie behind each other, as many in both.
    #[inline(always)]
    pub(super) fn of_cells(left: &'h [Value], right: &'h [Value], question: Comparison) -> Self {
        Pairs {
            left: Cow::Borrowed(left),
            right: Cow::Borrowed(right),
            at: 0,
            question,
            rest: None,
        }
    }

    fn of_entries(
        left: Node<'h>,
        right: Node<'h>,
        part: fn((Value, Value)) -> Value,
        question: Comparison,
    ) -> Self {
        let rest = PairsLeft {
            left: Box::new(entries(left).map(part)),
            right: Box::new(entries(right).map(part)),
        };
        Pairs {
            rest: Some(Box::new(rest)),
            ..Pairs::of_cells(&[], &[], question)
        }
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(Value, Value)> {
        if self.at == self.left.len() && !self.take_some() {
            return None;
        }
        let pair = (self.left[self.at], self.right[self.at]);
        self.at += 1;
        Some(pair)
    }

    /// Returns whether there may be one more.
    #[inline(always)]
    pub(super) fn has_more(&self) -> bool {
        self.at < self.left.len() || self.rest.is_some()
    }

    #[inline(always)]
    fn take_some(&mut self) -> bool {
        match &mut self.rest {
            None => false,
            Some(rest) => {
                self.at = 0;
                self.left = rest.left.by_ref().take(SOME).collect();
                self.right = rest.right.by_ref().take(SOME).collect();
                !self.left.is_empty()
            }
        }
    }
}

/// The parts inside of two values of the same kind.
pub(super) enum Parts<'h> {
    /// The elements of tuples, head and tail of lists, or what functions are and have captured.
    Cells(&'h [Value], &'h [Value]),
    Maps(Node<'h>, Node<'h>),
}

impl<'h> Parts<'h> {
    #[inline(always)]
    pub(super) fn of(a: Value, b: Value) -> Option<Parts<'h>> {
        if a.is_cons() && b.is_cons() {
            return Some(Parts::Cells(a.cons_cell(), b.cons_cell()));
        }
        if !a.is_boxed() || !b.is_boxed() {
            return None;
        }
        if let Some(elements) = a.as_tuple() {
            return Some(Parts::Cells(elements, b.as_tuple()?));
        }
        if let Some(a) = Node::of(a) {
            return Some(Parts::Maps(a, Node::of(b)?));
        }
        Some(Parts::Cells(a.as_function()?, b.as_function()?))
    }

    #[inline(always)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        match self {
            Parts::Cells(a, b) => (a.len(), b.len()),
            Parts::Maps(a, b) => (a.size, b.size),
        }
    }

    /// The pairs of parts of the same size: those that come first, and then.
    #[inline(always)]
    pub(super) fn pairs(self, question: Comparison) -> (Pairs<'h>, Option<Pairs<'h>>) {
        match self {
            Parts::Cells(a, b) => (Pairs::of_cells(a, b, question), None),
            Parts::Maps(a, b) if a.is_leaf() && b.is_leaf() => (
                Pairs::of_cells(a.keys, b.keys, Comparison::Key),
                Some(Pairs::of_cells(a.items, b.items, question)),
            ),
            Parts::Maps(a, b) => (
                Pairs::of_entries(a, b, |(key, _)| key, Comparison::Key),
                Some(Pairs::of_entries(a, b, |(_, value)| value, question)),
            ),
        }
    }
}
