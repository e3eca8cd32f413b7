//! Several rounds of a loop at once: strides of a loop that counts (counted.rs).
//!
//! A stride has the rounds of the plain loop one behind the other, or abreast (abreast.rs). How many strides there is fuel
//! for, and how many there are before the loop ends, is calculated before the first of them; what they count is how many of
//! them are left, from which fuel and counters follow where they are asked for.
//!
//! Invariants:
//! 1. For all strides fuel is left of the slice, and no round of them is the last.
//! 2. It is made whole or not at all: wherever something is not usual, it goes to the plain loop with what it was begun
//!    with. So it has no effects, and whatever comes of what is not usual comes of it there.
//! 3. Floats are known to be finite (intervals.rs), or those that are not are found out at its end: nothing but floats is
//!    computed from them, and no way depends on one.
use super::{Body, Target};
use crate::code::ir::{Instr, Label, Operand};
use crate::native::counted::{Bound, Counted, DISTANCE, ROUNDS};
use crate::native::intervals::{self, Interval};
use crate::native::kinds::Kinds;
use crate::native::linear::Linear;
use crate::native::way::Limit;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F64, I64};
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value};
use cranelift_frontend::Variable;
use std::rc::Rc;

/// A stride that is being compiled.
pub(super) struct Stride {
    /// Where what is not usual goes.
    pub(super) given_up: Block,
    pub(super) counted: Rc<Counted>,
    /// How many rounds it has.
    pub(super) rounds: i64,
    pub(super) linear: Linear,
    /// The counters that it needs as floats.
    pub(super) counters: Vec<Counter>,
    /// Whether all floats are finite for certain.
    pub(super) finite: bool,
    /// Otherwise a sum that is finite only if all floats are that nobody has asked about.
    pub(super) sum: Option<Value>,
}

/// A counter as a float, times a power of two.
pub(super) struct Counter {
    pub(super) param: u16,
    pub(super) power: f64,
    /// What it grows by from one stride to the next.
    by: f64,
    pub(super) float: Variable,
}

impl<'a> Body<'a, '_> {
    /// From the start of a loop to its plain form, by strides as far as they go.
    pub(super) fn strides(&mut self, plain: Block) {
        let trace = self.trace();
        let counted = match &trace {
            Some(trace) => Some(trace.counted.clone()),
            None => Counted::of(self.subject, self.flow, false).map(Rc::new),
        };
        let Some(counted) = counted else {
            self.b.ins().jump(plain, &[]);
            return;
        };
        let beginning = match trace {
            Some(_) => None,
            None => intervals::beginning(&counted, self.subject, self.flow),
        };
        let price = ROUNDS * trace.as_ref().map_or(1, |trace| trace.price);
        if let Some(beginning) = beginning {
            for (i, kinds) in self.flow.inputs.iter().enumerate() {
                if *kinds == Kinds::FLOAT {
                    let float = self.b.use_var(self.floats[i]);
                    let within = self.is_within(beginning, float);
                    self.unless_plain(within, plain);
                }
            }
        }
        if let Some(trace) = &trace {
            self.may_go_abreast(trace, plain);
        }
        let budget = self.b.use_var(self.budget);
        let begun: Vec<Value> = self.words();
        let enough = self.has_fuel_for(budget, price);
        self.unless_plain(enough, plain);
        let mut strides = self.fuel_for(budget, price);
        for bound in &counted.bounds {
            let distance = self.distance(bound, &begun);
            let near = self.is_near(distance);
            self.unless_plain(near, plain);
            // Twice the integer is in words.
            let stride = self.b.ins().iconst(I64, 2 * ROUNDS * bound.step);
            let before = self.b.ins().udiv(distance, stride);
            let before = self.b.ins().iadd_imm_s(before, 1);
            strides = self.b.ins().umin(strides, before);
        }
        let spent = self.b.ins().imul_imm_s(strides, price);
        let left_at_end = self.b.ins().isub(budget, spent);
        let ends: Vec<Option<Value>> = (counted.steps.iter().zip(&begun))
            .map(|(step, word)| step.map(|step| self.ahead(*word, step, strides)))
            .collect();

        // What strides need of counters as floats is known when they are compiled; it is made before them.
        let (before, head) = (self.b.create_block(), self.b.create_block());
        self.b.ins().jump(before, &[]);
        self.b.seal_block(before);
        self.b.switch_to_block(head);
        let left = self.b.use_var(self.strides_left);
        for (i, (step, end)) in counted.steps.iter().zip(&ends).enumerate() {
            if let (Some(step), Some(end)) = (step, end) {
                let word = self.ahead(*end, -step, left);
                self.b.def_var(self.words[i], word);
            }
        }
        let words = self.words();
        let floats: Vec<Option<Value>> = (self.flow.inputs.iter().zip(&self.floats))
            .map(|(kinds, float)| (*kinds == Kinds::FLOAT).then(|| self.b.use_var(*float)))
            .collect();

        let given_up = self.b.create_block();
        self.b.set_cold_block(given_up);
        self.state = self.flow.start();
        self.stride = Some(Stride {
            given_up,
            linear: Linear::start(self.flow, self.subject.registers),
            counted: counted.clone(),
            rounds: ROUNDS,
            counters: Vec::new(),
            finite: beginning.is_some(),
            sum: None,
        });
        match &trace {
            Some(trace) => self.abreast(trace),
            None => (0..ROUNDS).for_each(|_| self.round()),
        }
        let stride = self.stride.as_ref().expect("it was begun above");
        if let Some(sum) = stride.sum {
            let finite = self.is_finite(sum);
            self.leave_unless(finite, Target::Slow(0));
        }
        let stride = self.stride.take().expect("as above");
        self.counters_go_on(&stride);
        let fewer = self.b.ins().iadd_imm_s(left, -1);
        self.b.def_var(self.strides_left, fewer);
        let done = self.b.create_block();
        self.b.ins().brif(fewer, head, &[], done, &[]);

        self.b.switch_to_block(done);
        self.b.seal_block(done);
        self.b.def_var(self.budget, left_at_end);
        for (i, end) in ends.into_iter().enumerate() {
            if let Some(end) = end {
                self.b.def_var(self.words[i], end);
            }
        }
        self.b.ins().jump(plain, &[]);

        self.b.switch_to_block(given_up);
        let unspent = self.b.ins().imul_imm_s(left, price);
        let budget = self.b.ins().iadd(left_at_end, unspent);
        self.b.def_var(self.budget, budget);
        for (i, float) in floats.into_iter().enumerate() {
            match float {
                Some(float) => self.b.def_var(self.floats[i], float),
                None => self.b.def_var(self.words[i], words[i]),
            }
        }
        self.b.ins().jump(plain, &[]);

        self.b.switch_to_block(before);
        self.b.def_var(self.strides_left, strides);
        for counter in stride.counters {
            let float = self.fixnum_as_float(begun[counter.param as usize]);
            let power = self.b.ins().f64const(counter.power);
            let float = self.b.ins().fmul(float, power);
            self.b.def_var(counter.float, float);
        }
        self.b.ins().jump(head, &[]);
        self.b.seal_block(head);
        self.state = self.flow.start();
        self.before.clear();
        self.unproven = false;
    }

    /// At the end of a stride, for the next one.
    pub(super) fn counters_go_on(&mut self, stride: &Stride) {
        for counter in &stride.counters {
            let float = self.b.use_var(counter.float);
            let by = self.b.ins().f64const(counter.by);
            let float = self.b.ins().fadd(float, by);
            self.b.def_var(counter.float, float);
        }
    }

    /// The words of the parameters; of floats there are none.
    fn words(&mut self) -> Vec<Value> {
        let inputs = self.flow.inputs.iter().zip(&self.words);
        inputs
            .map(|(kinds, word)| match *kinds {
                Kinds::FLOAT => self.b.ins().iconst(I64, 0),
                _ => self.b.use_var(*word),
            })
            .collect()
    }

    /// The word of a parameter after so many strides.
    fn ahead(&mut self, word: Value, step: i64, strides: Value) -> Value {
        if step == 0 {
            return word;
        }
        let by = self.b.ins().imul_imm_s(strides, 2 * ROUNDS * step.abs());
        match step > 0 {
            true => self.b.ins().iadd(word, by),
            false => self.b.ins().isub(word, by),
        }
    }

    pub(super) fn unless_plain(&mut self, condition: Value, plain: Block) {
        let next = self.next_block();
        self.b.ins().brif(condition, next, &[], plain, &[]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
    }

    /// Twice as far as the last round of a stride is before a bound.
    fn distance(&mut self, bound: &Bound, words: &[Value]) -> Value {
        let counter = words[bound.counter as usize];
        // Words have twice the integer, and the tags go with the difference. What wraps is far away in either case: a
        // counter has half of the integers around it free.
        let (ahead, apart) = (2 * bound.ahead, if bound.met { 0 } else { -2 });
        match (bound.bound, bound.above) {
            (Limit::Constant(c), true) => {
                let by = (ahead + apart).wrapping_sub(c.wrapping_mul(2) + 1);
                self.b.ins().iadd_imm_s(counter, by)
            }
            (Limit::Constant(c), false) => {
                let from = (apart - ahead).wrapping_add(c.wrapping_mul(2) + 1);
                let from = self.b.ins().iconst(I64, from);
                self.b.ins().isub(from, counter)
            }
            (Limit::Parameter(p), above) => {
                let limit = words[p as usize];
                let (more, less, ahead) = match above {
                    true => (counter, limit, ahead),
                    false => (limit, counter, -ahead),
                };
                let difference = self.b.ins().isub(more, less);
                self.b.ins().iadd_imm_s(difference, ahead + apart)
            }
        }
    }

    /// Whether a distance is neither negative nor too large.
    fn is_near(&mut self, distance: Value) -> Value {
        let beyond = (2 * DISTANCE).trailing_zeros();
        let beyond = self.b.ins().ushr_imm_s(distance, i64::from(beyond));
        self.b.ins().icmp_imm_s(IntCC::Equal, beyond, 0)
    }

    /// One round, up to what it hands on to the next.
    pub(super) fn round(&mut self) {
        let stride = self.stride.as_ref().expect("a stride has rounds");
        let counted = stride.counted.clone();
        self.start_of_round();
        for at in &counted.round {
            self.compute(*at);
        }
        self.hand_on(&counted.handed);
        self.state = self.flow.start();
        if let Some(stride) = &mut self.stride {
            stride.linear.hand_on(&counted.handed, self.flow);
        }
    }

    /// One instruction of a round.
    pub(super) fn compute(&mut self, at: Label) {
        let subject = self.subject;
        let instruction = &subject.code[at as usize];
        self.state.arrive(at, self.flow);
        self.at = at;
        self.unproven = false;
        self.before.clear();
        self.instruction(instruction);
        self.pass(instruction);
        self.unproven = false;
    }

    /// What is known after an instruction of a round.
    pub(super) fn pass(&mut self, instruction: &Instr) {
        self.state.pass(instruction, self.subject);
        if let Some(stride) = &mut self.stride {
            stride.linear.pass(instruction, self.subject.constants);
        }
    }

    /// Whether a float is in an interval that is as large below zero as above, or is above.
    pub(super) fn is_within(&mut self, interval: Interval, float: Value) -> Value {
        let bits = self.b.ins().bitcast(I64, MemFlagsData::new(), float);
        let most = interval.1.to_bits() as i64;
        let (distance, farthest) = if interval.0 > 0.0 {
            let least = interval.0.to_bits() as i64;
            let least_bits = self.b.ins().iconst(I64, least);
            (self.b.ins().isub(bits, least_bits), most - least)
        } else {
            (self.b.ins().ishl_imm_s(bits, 1), most << 1)
        };
        let farthest = self.b.ins().iconst(I64, farthest);
        let within = IntCC::UnsignedLessThanOrEqual;
        self.b.ins().icmp(within, distance, farthest)
    }

    /// In a stride, a float that must be finite for it to count.
    pub(super) fn sum_up(&mut self, float: Value) {
        let stride = self.stride.as_mut().expect("only strides sum up");
        if stride.finite {
            return;
        }
        // What is not finite stays so in a sum. One that gets too large by itself gives the stride up for nothing.
        stride.sum = Some(match stride.sum {
            Some(sum) => self.b.ins().fadd(sum, float),
            None => float,
        });
    }

    /// In a stride: a counter as a float, times a power of two. All of it is exact, so that it may be calculated from what
    /// the counter was at the start, which is a float that grows from stride to stride.
    pub(super) fn counter_as_float(&mut self, operand: Operand, power: f64) -> Option<Value> {
        let stride = self.stride.as_mut()?;
        let (param, ahead) = stride.linear.of(operand)?;
        stride.counted.range(param)?;
        let step = stride.counted.steps[param as usize]?;
        let known = |c: &&Counter| c.param == param && c.power == power;
        let float = match stride.counters.iter().find(known) {
            Some(counter) => counter.float,
            None => {
                let float = self.b.declare_var(F64);
                stride.counters.push(Counter {
                    param,
                    power,
                    by: (stride.rounds * step) as f64 * power,
                    float,
                });
                float
            }
        };
        let start = self.b.use_var(float);
        if ahead == 0 {
            return Some(start);
        }
        let ahead = self.b.ins().f64const(ahead as f64 * power);
        Some(self.b.ins().fadd(start, ahead))
    }

    /// A loop comes back with what it goes on with: words, or machine floats.
    pub(super) fn start_of_round(&mut self) {
        for (i, kinds) in self.flow.inputs.iter().enumerate() {
            let float = *kinds == Kinds::FLOAT;
            self.here[i] = super::Here {
                word: !float || !self.flow.loops,
                float,
                test: None,
            };
        }
    }
}
