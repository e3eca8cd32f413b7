//! Lanes: several rounds of a loop with inner loops, interleaved. They are a group of a loop that loop_nest.rs has
//! analysed.
//!
//! Each round is a **lane**, with activations of its own for all that it calls in line. All lanes first run up to an
//! inner loop. The rounds of that loop are then made once, each for all lanes, and so on. Code that needs the results of the
//! previous round comes last, lane by lane. So there are as many independent chains of operations as lanes, and while one chain
//! waits for a result, the processor goes on with the others. Each lane computes what its round would.
//!
//! Such a group is like any other (unroll.rs): fuel and depth for all that it calls are there before it begins.
use super::activation::Activation;
use super::inline::{Calls, Given};
use super::unroll::Unrolled;
use super::{Body, Destination};
use crate::counted_loops::ROUNDS;
use crate::kinds::Kinds;
use crate::linear::Linear;
use crate::loop_nest::{InnerLoop, LoopNest, Step};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use cranelift_frontend::Variable;
use mote_vm::code::ir::{Instr, Label, Operand, Register};
use mote_vm::values::value::{Value as Word, FIXNUM_MAX};
use std::mem::swap;

/// The variables for words, and those for floats.
type Variables = (Vec<Variable>, Vec<Variable>);

/// A round: what is known of each of its frames.
struct Lane<'a>(Vec<(Activation<'a>, Linear)>);

impl<'a> Body<'a, '_> {
    /// The nest of this loop, if its rounds can run in lanes.
    pub(super) fn nest(&self) -> Option<LoopNest<'a>> {
        match self.inlining.calls {
            Calls::InLine => LoopNest::of(self.active.subject, self.active.flow, self.functions),
            Calls::Made => None,
        }
    }

    /// Tests before the first group what plain rounds need not test, and goes to the plain loop if a test fails. Plain rounds come back
    /// here.
    pub(super) fn admit_lanes(&mut self, nest: &LoopNest<'a>, plain: Block) {
        let header = self.b.create_block();
        self.b.ins().jump(header, &[]);
        self.b.switch_to_block(header);
        self.unrolling.lanes_header = Some(header);
        let budget = self.b.use_var(self.budget);
        let deep = self.has_depth_for(budget, nest.depth);
        self.unless_plain(deep, plain);
        for i in 0..self.active.flow.inputs.len() {
            if self.active.flow.steps[i] {
                let word = self.b.use_var(self.active.words[i]);
                let narrow = self.is_narrow(word);
                let next = self.next_block();
                self.b.ins().brif(narrow, plain, &[], next, &[]);
                self.begin_block(next);
            }
        }
    }

    /// The start of a plain round, which may take the next slice of fuel in what it calls.
    pub(super) fn begin_plain_round(&mut self) {
        if self.uses_lanes() {
            let budget = self.b.use_var(self.budget);
            self.b.def_var(self.unrolling.begun_with, budget);
        }
    }

    /// Goes from the end of a plain round to the next round: by groups again if there is more fuel than before. Groups that were given up
    /// stay so for this slice.
    pub(super) fn next_round(&mut self, plain: Block) {
        let header = match self.unrolling.lanes_header {
            Some(header) if self.uses_lanes() => header,
            _ => {
                self.b.ins().jump(plain, &[]);
                return;
            }
        };
        let (begun_with, budget) = (
            self.b.use_var(self.unrolling.begun_with),
            self.b.use_var(self.budget),
        );
        let more = IntCC::UnsignedGreaterThan;
        let more = self.b.ins().icmp(more, budget, begun_with);
        self.b.ins().brif(more, header, &[], plain, &[]);
    }

    fn uses_lanes(&self) -> bool {
        self.active.inlined.is_none() && self.unrolling.lanes_header.is_some()
    }

    /// The rounds of a group.
    pub(super) fn lanes(&mut self, nest: &LoopNest<'a>) {
        let mut lanes: Vec<Lane<'a>> = (0..ROUNDS).map(|i| self.lane(nest, i)).collect();
        for (steps, inner) in &nest.prologue {
            for lane in &mut lanes {
                self.steps(lane, steps);
            }
            self.inner_loop(&mut lanes, inner);
        }
        let mut before = (self.active.words.clone(), self.active.floats.clone());
        for lane in &mut lanes {
            let own = (lane.0[0].0.words.clone(), lane.0[0].0.floats.clone());
            for i in &nest.carried_in {
                self.hand_over(*i, &before, &own);
            }
            self.steps(lane, &nest.epilogue);
            self.in_frame(lane, 0, |body| body.hand_on(&nest.counted.handed));
            before = own;
        }
        let own = (self.active.words.clone(), self.active.floats.clone());
        for (i, step) in nest.counted.steps.iter().enumerate() {
            if step.is_none() {
                self.hand_over(i, &before, &own);
            }
        }
    }

    /// A round of the group, before it begins.
    fn lane(&mut self, nest: &LoopNest<'a>, round: i64) -> Lane<'a> {
        let counted = &nest.counted;
        let frames = nest.frames.iter().enumerate().map(|(i, frame)| {
            let activation = Activation::new(&mut self.b, frame.subject, frame.flow, None);
            let registers = frame.subject.registers;
            let linear = match i {
                0 => Linear::start(frame.flow, registers).after(round, &counted.steps),
                _ => Linear::nothing(registers),
            };
            (activation, linear)
        });
        let mut lane = Lane(frames.collect());
        let base = (self.active.words.clone(), self.active.floats.clone());
        let own = (lane.0[0].0.words.clone(), lane.0[0].0.floats.clone());
        for (i, step) in counted.steps.iter().enumerate() {
            match step {
                Some(step) => {
                    let word = self.b.use_var(self.active.words[i]);
                    let word = self.b.ins().iadd_imm_s(word, 2 * round * step);
                    self.b.def_var(own.0[i], word);
                }
                None if counted.fixed[i] => self.hand_over(i, &base, &own),
                None => {}
            }
        }
        self.in_frame(&mut lane, 0, |body| body.start_of_round());
        lane
    }

    /// A parameter of the loop, from the registers of one activation of it to those of another.
    fn hand_over(&mut self, i: usize, from: &Variables, to: &Variables) {
        let (from, to) = match self.active.flow.inputs[i] {
            Kinds::FLOAT => (from.1[i], to.1[i]),
            _ => (from.0[i], to.0[i]),
        };
        let value = self.b.use_var(from);
        self.b.def_var(to, value);
    }

    /// Does something in a frame of a lane.
    fn in_frame<T>(
        &mut self,
        lane: &mut Lane<'a>,
        frame: usize,
        work: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.switch_lane(lane, frame);
        let done = work(self);
        self.switch_lane(lane, frame);
        done
    }

    fn switch_lane(&mut self, lane: &mut Lane<'a>, frame: usize) {
        let (activation, linear) = &mut lane.0[frame];
        self.switch(activation);
        swap(&mut self.current_group().linear, linear);
    }

    fn current_group(&mut self) -> &mut Unrolled {
        self.unrolling
            .group
            .as_mut()
            .expect("lanes are those of a group")
    }

    fn steps(&mut self, lane: &mut Lane<'a>, steps: &[Step]) {
        for step in steps {
            match *step {
                Step::Compute { frame, at } => self.in_frame(lane, frame, |body| body.compute(at)),
                Step::Enter { frame, at, to } => {
                    let flow = lane.0[to].0.flow;
                    let given = self.in_frame(lane, frame, |body| {
                        let (_, _, args) = body.call_at(at);
                        body.given(args, flow)
                    });
                    self.in_frame(lane, to, |body| body.take_over(&given));
                }
                Step::Return {
                    from,
                    value,
                    frame,
                    at,
                } => {
                    let (dst, function, _) = self.in_frame(lane, frame, |body| body.call_at(at));
                    let caller = lane.0[frame].0.subject;
                    let float = caller.returns(function) == Kinds::FLOAT;
                    let answer = self.in_frame(lane, from, |body| match float {
                        true => Given::Float(body.machine_float(value)),
                        false => Given::Word(body.word(value)),
                    });
                    self.in_frame(lane, frame, |body| {
                        match answer {
                            Given::Float(float) => body.set_float(dst, float),
                            Given::Word(word) => body.set_word(dst, word),
                        }
                        body.active.state.arrive(at, body.active.flow);
                        body.transfer(&caller.code[at as usize]);
                    });
                }
            }
        }
    }

    /// The call there: where its answer goes, the function, its arguments.
    fn call_at(&self, at: Label) -> (Register, u32, &'a [Operand]) {
        match &self.active.subject.code[at as usize] {
            Instr::Call {
                dst,
                function,
                args,
            } => (*dst, *function, args),
            _ => unreachable!("loop_nest.rs enters where there is a call"),
        }
    }

    /// The rounds of an inner loop, each for all lanes.
    fn inner_loop(&mut self, lanes: &mut [Lane<'a>], inner: &InnerLoop) {
        for lane in lanes.iter_mut() {
            self.in_frame(lane, inner.frame, |body| body.begin_inner_loop(inner));
        }
        if inner.rounds > 0 {
            self.inner_rounds(lanes, inner);
        }
        let none_left = self.b.ins().iconst(I64, 0);
        for lane in lanes.iter_mut() {
            self.in_frame(lane, inner.frame, |body| {
                body.active.state = body.active.flow.start();
                body.start_of_round();
                body.constant_counters(inner, none_left);
            });
        }
    }

    /// Tests what a loop begins with.
    fn begin_inner_loop(&mut self, inner: &InnerLoop) {
        let mut tested = Vec::new();
        let mut given = Vec::new();
        for (i, kinds) in self.active.flow.inputs.iter().enumerate() {
            if *kinds != Kinds::FLOAT {
                let word = self.b.use_var(self.active.words[i]);
                let small = inner.begun[i].is_some_and(|n| n.abs() < FIXNUM_MAX / 2);
                if self.active.flow.counters[i] && !small {
                    self.has_room(word);
                }
                given.push(Given::Word(word));
                continue;
            }
            let float = self.b.use_var(self.active.floats[i]);
            if !tested.contains(&float) {
                let within = self.is_within(inner.within, float);
                self.leave_unless(within, Destination::Slow(0));
                tested.push(float);
            }
            given.push(Given::Float(float));
        }
        self.begin_apart(&given);
    }

    fn inner_rounds(&mut self, lanes: &mut [Lane<'a>], inner: &InnerLoop) {
        let (before, head, done) = (
            self.b.create_block(),
            self.b.create_block(),
            self.b.create_block(),
        );
        let left_now = self.b.declare_var(I64);
        self.b.ins().jump(before, &[]);
        self.b.seal_block(before);
        self.b.switch_to_block(head);
        let left = self.b.use_var(left_now);
        let group = Unrolled {
            given_up: self.current_group().given_up,
            counted: inner.counted.clone(),
            rounds: 1,
            linear: Linear::nothing(0),
            counters: Vec::new(),
            finite: true,
            sum: None,
        };
        let outer = self.unrolling.group.replace(group);
        for Lane(frames) in lanes.iter_mut() {
            let activation = &mut frames[inner.frame].0;
            self.switch(activation);
            self.active.state = self.active.flow.start();
            self.constant_counters(inner, left);
            self.current_group().linear =
                Linear::start(self.active.flow, self.active.subject.registers);
            self.round();
            self.switch(activation);
        }
        let group = std::mem::replace(&mut self.unrolling.group, outer);
        let group = group.expect("it was begun above");
        self.counters_go_on(&group);
        let fewer = self.b.ins().iadd_imm_s(left, -1);
        self.b.def_var(left_now, fewer);
        self.b.ins().brif(fewer, head, &[], done, &[]);

        // What the rounds need of counters as floats is known when they are compiled.
        self.b.switch_to_block(before);
        let rounds = self.b.ins().iconst(I64, inner.rounds);
        self.b.def_var(left_now, rounds);
        for counter in &group.counters {
            let begun = inner.begun[counter.param as usize];
            let begun = begun.expect("what counts towards a bound begins with a constant");
            let float = self.b.ins().f64const(begun as f64 * counter.power);
            self.b.def_var(counter.float, float);
        }
        self.b.ins().jump(head, &[]);
        self.b.seal_block(head);
        self.begin_block(done);
    }

    /// Sets the counters that begin with a constant, when `left` rounds of the loop are left. They are the same for all lanes.
    fn constant_counters(&mut self, inner: &InnerLoop, left: Value) {
        for (i, begun) in inner.begun.iter().enumerate() {
            let (Some(begun), Some(step)) = (begun, inner.counted.steps[i]) else {
                continue;
            };
            let end = Word::fixnum(begun + inner.rounds * step);
            let end = self.literal(end);
            let ahead = self.b.ins().imul_imm_s(left, 2 * step);
            let word = self.b.ins().isub(end, ahead);
            self.b.def_var(self.active.words[i], word);
        }
    }
}
