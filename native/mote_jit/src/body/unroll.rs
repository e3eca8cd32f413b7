//! Unrolled loops: several rounds at once of a loop that counts (counted_loops.rs). The rounds that are made at once are
//! a **group**.
//!
//! A group has the rounds of the plain loop serially, or in lanes (lanes.rs). The number of groups is computed
//! before the first of them, from the fuel and from how far the loop is from its end. Groups count only how many of them
//! are left; fuel and counters are derived from that where they are needed.
//!
//! Invariants:
//! 1. For all groups fuel is left of the slice, and no round of them is the last.
//! 2. A group is made whole or not at all. Wherever something unusual happens, control goes to the plain loop with the
//!    values that the group was begun with. So a group has no effects, and the plain loop deals with the unusual.
//! 3. Floats are known to be finite (intervals.rs), or it is tested at the end of the group whether all of them were:
//!    until then only floats are computed from them, and no branch depends on one.
use super::{Body, Destination};
use crate::counted_loops::{Bound, Counted, DISTANCE, ROUNDS};
use crate::intervals::{self, Interval};
use crate::kinds::Kinds;
use crate::linear::Linear;
use crate::loop_nest::LoopNest;
use crate::path::Limit;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F64, I64};
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value};
use cranelift_frontend::{FunctionBuilder, Variable};
use mote_vm::code::ir::{Instr, Label, Operand};
use std::rc::Rc;

/// The state of a body's groups.
pub(super) struct Unrolling {
    /// The group that is being compiled.
    pub(super) group: Option<Unrolled>,
    /// Number of groups that are left, including the current one.
    left: Variable,
    /// The block where a loop that calls others tries groups again, and the budget that its plain round began with.
    pub(super) lanes_header: Option<Block>,
    pub(super) begun_with: Variable,
}

impl Unrolling {
    pub(super) fn new(b: &mut FunctionBuilder<'_>) -> Unrolling {
        Unrolling {
            group: None,
            left: b.declare_var(I64),
            lanes_header: None,
            begun_with: b.declare_var(I64),
        }
    }
}

/// A group that is being compiled.
pub(super) struct Unrolled {
    /// The block for a group in which something unusual happens.
    pub(super) given_up: Block,
    pub(super) counted: Rc<Counted>,
    /// Number of rounds in the group.
    pub(super) rounds: i64,
    pub(super) linear: Linear,
    /// The counters that it needs as floats.
    pub(super) counters: Vec<Counter>,
    /// True if all floats are finite for certain.
    pub(super) finite: bool,
    /// A sum that is finite only if all floats that were not tested are; unused if all are finite for certain.
    pub(super) sum: Option<Value>,
}

/// A counter as a float, times a power of two.
pub(super) struct Counter {
    pub(super) param: u16,
    pub(super) power: f64,
    /// Growth from one group to the next.
    by: f64,
    pub(super) float: Variable,
}

/// The plan for the groups of a loop.
struct Groups<'a> {
    /// The loops in its rounds, if there are any: then the rounds of a group are made in lanes.
    nest: Option<LoopNest<'a>>,
    counted: Rc<Counted>,
    /// The intervals that its floats must lie in at first, if all of them are then certain to stay finite.
    beginning: Option<Interval>,
    /// The fuel of a group.
    price: i64,
}

/// The state before the first group: the number of groups, and the parameters before and after them.
struct Start {
    count: Value,
    begun: Vec<Value>,
    ends: Vec<Option<Value>>,
    left_at_end: Value,
}

/// The state at the beginning of a group.
struct Begun {
    /// Number of groups that are left, including this one.
    left: Value,
    words: Vec<Value>,
    floats: Vec<Option<Value>>,
}

impl<'a> Body<'a, '_> {
    /// Leads from the start of a loop to its plain form, by groups as far as they go.
    pub(super) fn groups(&mut self, plain: Block) {
        let Some(groups) = self.groups_of_loop() else {
            self.b.ins().jump(plain, &[]);
            return;
        };
        let start = self.admit(&groups, plain);
        // What groups need of counters as floats is known when they are compiled; it is made before them.
        let (before, head) = (self.b.create_block(), self.b.create_block());
        self.b.ins().jump(before, &[]);
        self.b.seal_block(before);
        self.b.switch_to_block(head);
        let begun = self.begin_group(&groups, &start);
        let (group, done) = self.group(&groups, begun.left, head);
        self.done(done, &start, plain);
        self.give_up(group.given_up, &groups, &start, begun, plain);
        self.b.switch_to_block(before);
        self.before_groups(&start, group.counters, head);
        self.active.state = self.active.flow.start();
        self.before.clear();
        self.proof = None;
    }

    /// Plans the groups of this loop, if it counts.
    fn groups_of_loop(&self) -> Option<Groups<'a>> {
        let nest = self.nest();
        let counted = match &nest {
            Some(nest) => nest.counted.clone(),
            None => Rc::new(Counted::of(self.active.subject, self.active.flow, false)?),
        };
        let beginning = match nest {
            Some(_) => None,
            None => intervals::beginning(&counted, self.active.subject, self.active.flow),
        };
        let price = ROUNDS * nest.as_ref().map_or(1, |nest| nest.price);
        Some(Groups {
            nest,
            counted,
            beginning,
            price,
        })
    }

    /// Goes to the plain loop unless at least one group is certain. Returns their number, and the state that they start from.
    fn admit(&mut self, groups: &Groups<'a>, plain: Block) -> Start {
        if let Some(beginning) = groups.beginning {
            for (i, kinds) in self.active.flow.inputs.iter().enumerate() {
                if *kinds == Kinds::FLOAT {
                    let float = self.b.use_var(self.active.floats[i]);
                    let within = self.is_within(beginning, float);
                    self.unless_plain(within, plain);
                }
            }
        }
        if let Some(nest) = &groups.nest {
            self.admit_lanes(nest, plain);
        }
        let budget = self.b.use_var(self.budget);
        let begun: Vec<Value> = self.words();
        let enough = self.has_fuel_for(budget, groups.price);
        self.unless_plain(enough, plain);
        let mut count = self.fuel_for(budget, groups.price);
        for bound in &groups.counted.bounds {
            let distance = self.distance(bound, &begun);
            let near = self.is_near(distance);
            self.unless_plain(near, plain);
            // Twice the integer is in words.
            let group = self.b.ins().iconst(I64, 2 * ROUNDS * bound.step);
            let before = self.b.ins().udiv(distance, group);
            let before = self.b.ins().iadd_imm_s(before, 1);
            count = self.b.ins().umin(count, before);
        }
        let spent = self.b.ins().imul_imm_s(count, groups.price);
        let left_at_end = self.b.ins().isub(budget, spent);
        let ends = (groups.counted.steps.iter().zip(&begun))
            .map(|(step, word)| step.map(|step| self.ahead(*word, step, count)))
            .collect();
        Start {
            count,
            begun,
            ends,
            left_at_end,
        }
    }

    /// The parameters at the head of a group: counters follow from how many groups are left.
    fn begin_group(&mut self, groups: &Groups<'a>, start: &Start) -> Begun {
        let left = self.b.use_var(self.unrolling.left);
        for (i, (step, end)) in groups.counted.steps.iter().zip(&start.ends).enumerate() {
            if let (Some(step), Some(end)) = (step, end) {
                let word = self.ahead(*end, -step, left);
                self.b.def_var(self.active.words[i], word);
            }
        }
        let words = self.words();
        let floats = (self.active.flow.inputs.iter().zip(&self.active.floats))
            .map(|(kinds, float)| (*kinds == Kinds::FLOAT).then(|| self.b.use_var(*float)))
            .collect();
        Begun {
            left,
            words,
            floats,
        }
    }

    /// Makes the rounds of a group, and goes back to its head while any groups are left. Returns where code goes on when none is.
    fn group(&mut self, groups: &Groups<'a>, left: Value, head: Block) -> (Unrolled, Block) {
        let given_up = self.cold_block();
        self.active.state = self.active.flow.start();
        self.unrolling.group = Some(Unrolled {
            given_up,
            linear: Linear::start(self.active.flow, self.active.subject.registers),
            counted: groups.counted.clone(),
            rounds: ROUNDS,
            counters: Vec::new(),
            finite: groups.beginning.is_some(),
            sum: None,
        });
        match &groups.nest {
            Some(nest) => self.lanes(nest),
            None => (0..ROUNDS).for_each(|_| self.round()),
        }
        let group = self.unrolling.group.as_ref().expect("it was begun above");
        if let Some(sum) = group.sum {
            let finite = self.is_finite(sum);
            self.leave_unless(finite, Destination::Slow(0));
        }
        let group = self.unrolling.group.take().expect("as above");
        self.counters_go_on(&group);
        let fewer = self.b.ins().iadd_imm_s(left, -1);
        self.b.def_var(self.unrolling.left, fewer);
        let done = self.b.create_block();
        self.b.ins().brif(fewer, head, &[], done, &[]);
        (group, done)
    }

    /// Leads from the last group to the plain loop, which makes the rounds that are left.
    fn done(&mut self, done: Block, start: &Start, plain: Block) {
        self.begin_block(done);
        self.b.def_var(self.budget, start.left_at_end);
        for (i, end) in start.ends.iter().enumerate() {
            if let Some(end) = *end {
                self.b.def_var(self.active.words[i], end);
            }
        }
        self.b.ins().jump(plain, &[]);
    }

    /// Leads out of the middle of a group. The plain loop makes its rounds, with the values it began with.
    fn give_up(
        &mut self,
        given_up: Block,
        groups: &Groups<'a>,
        start: &Start,
        begun: Begun,
        plain: Block,
    ) {
        self.b.switch_to_block(given_up);
        let unspent = self.b.ins().imul_imm_s(begun.left, groups.price);
        let budget = self.b.ins().iadd(start.left_at_end, unspent);
        self.b.def_var(self.budget, budget);
        for (i, float) in begun.floats.into_iter().enumerate() {
            match float {
                Some(float) => self.b.def_var(self.active.floats[i], float),
                None => self.b.def_var(self.active.words[i], begun.words[i]),
            }
        }
        self.b.ins().jump(plain, &[]);
    }

    /// Makes counters as floats before the first group, for rounds that asked for them.
    fn before_groups(&mut self, start: &Start, counters: Vec<Counter>, head: Block) {
        self.b.def_var(self.unrolling.left, start.count);
        for counter in counters {
            let float = self.fixnum_as_float(start.begun[counter.param as usize]);
            let power = self.b.ins().f64const(counter.power);
            let float = self.b.ins().fmul(float, power);
            self.b.def_var(counter.float, float);
        }
        self.b.ins().jump(head, &[]);
        self.b.seal_block(head);
    }

    /// Moves the counters on, at the end of a group.
    pub(super) fn counters_go_on(&mut self, group: &Unrolled) {
        for counter in &group.counters {
            let float = self.b.use_var(counter.float);
            let by = self.b.ins().f64const(counter.by);
            let float = self.b.ins().fadd(float, by);
            self.b.def_var(counter.float, float);
        }
    }

    /// The words of the parameters; of floats there are none.
    fn words(&mut self) -> Vec<Value> {
        let inputs = self.active.flow.inputs.iter().zip(&self.active.words);
        inputs
            .map(|(kinds, word)| match *kinds {
                Kinds::FLOAT => self.b.ins().iconst(I64, 0),
                _ => self.b.use_var(*word),
            })
            .collect()
    }

    /// Returns the word of a parameter after that many groups.
    fn ahead(&mut self, word: Value, step: i64, groups: Value) -> Value {
        if step == 0 {
            return word;
        }
        let by = self.b.ins().imul_imm_s(groups, 2 * ROUNDS * step.abs());
        match step > 0 {
            true => self.b.ins().iadd(word, by),
            false => self.b.ins().isub(word, by),
        }
    }

    pub(super) fn unless_plain(&mut self, condition: Value, plain: Block) {
        let next = self.next_block();
        self.b.ins().brif(condition, next, &[], plain, &[]);
        self.begin_block(next);
    }

    /// Computes twice the distance of a group's last round from a bound.
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

    /// Tests whether a distance is neither negative nor too large.
    fn is_near(&mut self, distance: Value) -> Value {
        let beyond = (2 * DISTANCE).trailing_zeros();
        let beyond = self.b.ins().ushr_imm_s(distance, i64::from(beyond));
        self.b.ins().icmp_imm_s(IntCC::Equal, beyond, 0)
    }

    /// Makes one round, up to what it hands on to the next.
    pub(super) fn round(&mut self) {
        let group = self.unrolling.group.as_ref().expect("a group has rounds");
        let counted = group.counted.clone();
        self.start_of_round();
        for at in &counted.round {
            self.compute(*at);
        }
        self.hand_on(&counted.handed);
        self.active.state = self.active.flow.start();
        if let Some(group) = &mut self.unrolling.group {
            group.linear.hand_on(&counted.handed, self.active.flow);
        }
    }

    /// Compiles one instruction of a round.
    pub(super) fn compute(&mut self, at: Label) {
        let subject = self.active.subject;
        let instruction = &subject.code[at as usize];
        self.active.state.arrive(at, self.active.flow);
        self.active.at = at;
        self.proof = None;
        self.before.clear();
        self.instruction(instruction);
        self.transfer(instruction);
        self.proof = None;
    }

    /// Updates the knowledge after an instruction of a round.
    pub(super) fn transfer(&mut self, instruction: &Instr) {
        self.active.state.transfer(instruction, self.active.subject);
        if let Some(group) = &mut self.unrolling.group {
            group
                .linear
                .transfer(instruction, self.active.subject.constants);
        }
    }

    /// Tests whether a float is in an interval. The interval reaches as far below zero as above, or lies above zero.
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

    /// Adds a float to the group's sum, in a group. It must be finite for the group to count.
    pub(super) fn sum_up(&mut self, float: Value) {
        let group = self.unrolling.group.as_mut().expect("only groups sum up");
        if group.finite {
            return;
        }
        // What is not finite stays so in a sum. One that gets too large by itself gives the group up for nothing.
        group.sum = Some(match group.sum {
            Some(sum) => self.b.ins().fadd(sum, float),
            None => float,
        });
    }

    /// Returns a counter as a float, times a power of two, in a group. All of it is exact. So it may be calculated from the counter at
    /// the start, as a float that grows from group to group.
    pub(super) fn counter_as_float(&mut self, operand: Operand, power: f64) -> Option<Value> {
        let group = self.unrolling.group.as_mut()?;
        let (param, ahead) = group.linear.of(operand)?;
        group.counted.range(param)?;
        let step = group.counted.steps[param as usize]?;
        let known = |c: &&Counter| c.param == param && c.power == power;
        let float = match group.counters.iter().find(known) {
            Some(counter) => counter.float,
            None => {
                let float = self.b.declare_var(F64);
                group.counters.push(Counter {
                    param,
                    power,
                    by: (group.rounds * step) as f64 * power,
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
        for (i, kinds) in self.active.flow.inputs.iter().enumerate() {
            let float = *kinds == Kinds::FLOAT;
            self.active.here[i] = super::activation::Here {
                word: !float || !self.active.flow.loops,
                float,
                test: None,
            };
        }
    }
}
