//! Walks the heap again after marking, from the roots, cell by cell, and insists that everything reachable is marked, except
//! constants of units that were loaded meanwhile. For stress and tests.
use super::roots::RootVisitor;
use crate::code::program::Program;
use crate::heap::cell::cell_of;
use crate::heap::marks::is_marked;
use crate::turns::marking::visitor::Visitor;
use crate::values::value::Value;
use rustc_hash::FxHashSet;

/// The walk that checks one collection.
pub(crate) struct Checker<'p> {
    program: &'p Program,
    number: u64,
    seen: FxHashSet<u64>,
    stack: Vec<Value>,
}

impl<'p> Checker<'p> {
    /// A walk over the marks of that collection.
    pub(crate) fn new(program: &'p Program, number: u64) -> Checker<'p> {
        Checker {
            program,
            number,
            seen: FxHashSet::default(),
            stack: Vec::new(),
        }
    }

    /// Walks from the roots that were shown. Returns the number of actors.
    pub(crate) fn finish(mut self) -> u64 {
        let mut actors = 0;
        while let Some(value) = self.stack.pop() {
            let cell = cell_of(value);
            if !is_marked(cell, self.number) {
                let constant = self.program.is_constant(cell);
                assert!(constant, "a reachable cell is not marked: {value:?}");
                // It leads to nothing but older constants.
                continue;
            }
            if value.is_address() {
                actors += 1;
                // SAFETY: a reachable actor is live.
                let actor = unsafe { &*value.address_pointer() };
                let n = self.program.behaviour(actor.header().behaviour()).captures as usize;
                match n {
                    0 => {}
                    1 => self.value(actor.state()),
                    _ => {
                        let captures = actor.state().word() as *const Value;
                        let marked = is_marked(captures.cast(), self.number);
                        assert!(marked, "captures are not marked");
                        for i in 0..n {
                            // SAFETY: as in `held_parts`.
                            self.value(unsafe { *captures.add(i) });
                        }
                    }
                }
            } else if let Some((head, tail)) = value.as_cons() {
                self.value(head);
                self.value(tail);
            } else {
                if let Some(foreign) = value.foreign_box() {
                    assert!(foreign.is_seen(self.number), "a foreign value is not seen");
                }
                for part in value.boxed_parts() {
                    self.value(*part);
                }
            }
        }
        actors
    }
}

impl RootVisitor for Checker<'_> {}

impl Visitor for Checker<'_> {
    fn value(&mut self, value: Value) {
        if !value.is_immediate() && !value.is_none() && self.seen.insert(value.word()) {
            self.stack.push(value);
        }
    }
}
