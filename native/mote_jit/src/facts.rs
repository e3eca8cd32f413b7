//! What is known of registers at one point of a piece of code.
use super::kinds::Kinds;
use super::range::Range;
use mote_vm::code::ir::{Operand, Register};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::Value;

/// The knowledge about one register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Known {
    pub(super) kinds: Kinds,
    /// True if it is a float, held as a machine float.
    pub(super) unboxed: bool,
    /// Number of the parameter that it still holds.
    pub(super) param: Option<u16>,
    /// Number of the parameter of which it is the sum with a small constant.
    pub(super) stepped: Option<u16>,
    /// Range that it is in, if it is an integer that fits.
    pub(super) range: Range,
    /// True if only the operands beside a number of unknown kind say that it is an integer. It may as well be a float.
    pub(super) guessed: bool,
    /// True if it is still a parameter that is a number beside floats and nothing else. So an integer is converted where it is used.
    pub(super) beside: bool,
}

/// The largest constant that is small: a slice of rounds with such steps stays far below the room that is tested
/// ([`counters`](super::dataflow::Dataflow::counters)).
pub(super) const SMALL: i64 = 1 << 20;

impl Known {
    pub(super) const NOTHING: Known = Known {
        kinds: Kinds::NONE,
        unboxed: false,
        param: None,
        stepped: None,
        range: Range::ALL,
        guessed: false,
        beside: false,
    };

    pub(super) fn word(kinds: Kinds) -> Known {
        Known {
            kinds,
            ..Known::NOTHING
        }
    }

    pub(super) fn float() -> Known {
        Known {
            kinds: Kinds::FLOAT,
            unboxed: true,
            ..Known::NOTHING
        }
    }

    pub(super) fn join(self, other: Known) -> Known {
        Known {
            kinds: self.kinds.or(other.kinds),
            unboxed: self.unboxed && other.unboxed,
            param: self.param.filter(|_| self.param == other.param),
            stepped: self.stepped.filter(|_| self.stepped == other.stepped),
            range: self.range.or(other.range),
            guessed: self.guessed || other.guessed,
            beside: self.beside && other.beside,
        }
    }
}

/// A fact about a test: if register `test` is true, `subject` is of the kinds `possible`; if it is false, of none of `sure`.
#[derive(Clone, Copy)]
pub(super) struct Fact {
    pub(super) test: Register,
    pub(super) subject: Register,
    pub(super) sure: Kinds,
    pub(super) possible: Kinds,
}

/// An order that a test shows: if register `test` is true, `subject`, an integer that fits, compares with the bound like this.
#[derive(Clone, Copy)]
pub(super) struct Order {
    pub(super) test: Register,
    pub(super) subject: Register,
    pub(super) p: Primitive,
    pub(super) bound: i64,
}

/// The knowledge at one point.
#[derive(Clone)]
pub(super) struct Knowledge {
    pub(super) registers: Vec<Known>,
    pub(super) facts: Vec<Fact>,
    pub(super) orders: Vec<Order>,
    /// True in a loop, where a wrong guess is made in each round. So a number beside a float is not taken for a float there.
    pub(super) repeats: bool,
}

impl Knowledge {
    pub(super) fn known(&self, r: Register) -> Known {
        self.registers[r as usize]
    }

    pub(super) fn set(&mut self, r: Register, known: Known) {
        self.facts.retain(|f| f.test != r && f.subject != r);
        self.orders.retain(|o| o.test != r && o.subject != r);
        self.registers[r as usize] = known;
    }

    /// Learns that a register's value is of one of these kinds.
    pub(super) fn learn(&mut self, r: Register, kinds: Kinds) {
        let known = &mut self.registers[r as usize];
        known.kinds = known.kinds.and(kinds);
    }

    pub(super) fn operand(&self, o: Operand, constants: &[Value]) -> Known {
        match o {
            Operand::Register(r) => self.known(r),
            Operand::Constant(k) => {
                let value = constants[k as usize];
                let range = value.as_fixnum().map_or(Range::ALL, Range::only);
                Known {
                    range,
                    ..Known::word(Kinds::of(value))
                }
            }
        }
    }

    /// Returns the range of a sum or a difference of integers; `None` for anything else.
    pub(super) fn sum(&self, p: Primitive, args: &[Operand], constants: &[Value]) -> Option<Range> {
        let range = |i: usize| self.operand(args[i], constants).range;
        match p {
            Primitive::Add => Some(range(0).plus(range(1))),
            Primitive::Sub => Some(range(0).minus(range(1))),
            _ => None,
        }
    }

    /// Returns whether a sum or a difference of integers that fit fits for sure.
    pub(super) fn fits(&self, p: Primitive, args: &[Operand], constants: &[Value]) -> bool {
        let sum = self.sum(p, args, constants);
        sum.is_some_and(|range| range.and(Range::ALL) == range)
    }

    pub(super) fn kinds(&self, o: Operand, constants: &[Value]) -> Kinds {
        self.operand(o, constants).kinds
    }

    pub(super) fn join(&mut self, other: &Knowledge) {
        for (mine, theirs) in self.registers.iter_mut().zip(&other.registers) {
            *mine = mine.join(*theirs);
        }
        self.forget_tests();
    }

    /// Forgets tests, where ways meet.
    pub(super) fn forget_tests(&mut self) {
        self.facts.clear();
        self.orders.clear();
    }

    /// A comparison is true of an integer.
    pub(super) fn narrow(&mut self, r: Register, p: Primitive, bound: i64) {
        let range = &mut self.registers[r as usize].range;
        *range = range.and(Range::where_true(p, bound));
    }

    /// The parameter that a primitive adds a small constant to.
    pub(super) fn step(&self, p: Primitive, args: &[Operand], constants: &[Value]) -> Option<u16> {
        let (of, by) = match (p, args) {
            (Primitive::Add, [by @ Operand::Constant(_), of]) => (of, by),
            (Primitive::Add | Primitive::Sub, [of, by]) => (of, by),
            _ => return None,
        };
        let (Operand::Register(r), Operand::Constant(k)) = (*of, *by) else {
            return None;
        };
        let by = constants[k as usize].as_fixnum()?;
        self.known(r)
            .param
            .filter(|_| (-SMALL..=SMALL).contains(&by))
    }
}
