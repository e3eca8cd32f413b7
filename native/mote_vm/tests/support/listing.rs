//! Code with names for its labels, for programs too long to count lines in.
#![allow(dead_code)] // Every test binary takes what it needs.
use crate::build::{is, jump, label, op};
use mote_vm::code::ir::{Instr, Operand};
use mote_vm::terms::prim::primitive::Primitive;
use std::collections::HashMap;

/// Code under construction. Labels are any strings; they are placed once and used before that.
#[derive(Default)]
pub struct Listing {
    code: Vec<Instr>,
    uses: Vec<(usize, &'static str)>,
    places: HashMap<&'static str, u32>,
}

impl Listing {
    /// An instruction without a label.
    pub fn then(&mut self, instr: Instr) -> &mut Listing {
        self.code.push(instr);
        self
    }

    /// `dst := primitive(args)`.
    pub fn op(&mut self, dst: u16, primitive: Primitive, args: &[Operand]) -> &mut Listing {
        self.then(op(dst, primitive, args))
    }

    /// An instruction whose label is that place's.
    pub fn to(&mut self, place: &'static str, instr: Instr) -> &mut Listing {
        self.uses.push((self.code.len(), place));
        self.then(instr)
    }

    /// Goes on there unless both are equal.
    pub fn unless_same(&mut self, a: Operand, b: Operand, place: &'static str) -> &mut Listing {
        self.to(place, is(a, b, 0))
    }

    /// Goes on there.
    pub fn jump(&mut self, place: &'static str) -> &mut Listing {
        self.to(place, jump(0))
    }

    /// Puts a named place here.
    pub fn place(&mut self, place: &'static str) -> &mut Listing {
        assert!(self.places.insert(place, self.code.len() as u32).is_none());
        self
    }

    /// The code.
    pub fn finish(&mut self) -> Vec<Instr> {
        for (at, place) in self.uses.drain(..) {
            let label = label(&mut self.code[at]);
            *label.expect("an instruction with a label") = self.places[place];
        }
        std::mem::take(&mut self.code)
    }
}
