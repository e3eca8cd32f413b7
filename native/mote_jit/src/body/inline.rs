//! Inlined calls: of small functions of the unit that make few calls themselves, or are a loop.
//!
//! An inlined call still spends what a call costs: fuel and depth are taken as if it were made. The frame is the caller's;
//! since the depth goes on counting, the stack has room for more frames than there are. The border between the two
//! functions disappears: floats are not turned into words, and what is known is not tested again.
//!
//! An inlined function is an activation of its own: its registers, what is known of them, its fast and its slow body. It
//! comes back to its caller's fast body with the usual result, and to the caller's slow body with any other. An inlined loop is
//! entered once. Where it would be entered again, with the next slice of fuel or by the slow body, the function is called
//! instead, so that what is known of the arguments stays true.
use super::activation::Activation;
use super::{Body, Mode};
use crate::dataflow::Dataflow;
use crate::kinds::Kinds;
use crate::subject::Subject;
use crate::unit::Callee;
use cranelift_codegen::ir::types::{F64, I64};
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use mote_vm::code::ir::{Instr, Operand, Register};
use mote_vm::values::value::FIXNUM_MAX;
use std::mem::take;

/// Instructions of the largest function that is inlined ([`Dataflow::size`]), and calls in it.
const LARGEST: usize = 16;
const CALLS: usize = 2;
/// Levels to which inlined functions nest, and levels for those that call themselves.
const LEVELS: usize = 3;
const SELF_LEVELS: usize = 1;
/// Instructions that are inlined into one function.
const MOST: usize = 64;

/// The places to which an inlined function returns.
#[derive(Clone, Copy)]
pub(super) struct Inlined {
    usual: Usual,
    /// Takes the answer.
    other: Block,
    expected: Kinds,
    level: usize,
}

/// The target of the usual answer.
#[derive(Clone, Copy)]
enum Usual {
    /// The block that gets the answer: a float if that is `expected`.
    On(Block),
    /// The blocks for a truth value that the caller asks for at once: one if it is true, and one if it is false.
    Ways(Block, Block),
}

/// The treatment of calls of small functions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    /// They are inlined.
    InLine,
    /// They are made.
    Made,
}

/// The inlined code of a body.
pub(super) struct Inlining<'a> {
    pub(super) calls: Calls,
    /// Number of instructions inlined.
    pub(super) size: usize,
    /// The activations whose slow bodies are not there yet.
    unfinished: Vec<Activation<'a>>,
}

impl Inlining<'_> {
    pub(super) fn new() -> Self {
        Inlining {
            calls: Calls::InLine,
            size: 0,
            unfinished: Vec::new(),
        }
    }
}

/// Returns whether a function is small enough to be inlined into itself.
pub(super) fn is_small(subject: &Subject<'_>, flow: &Dataflow) -> bool {
    let calls = |i: &&Instr| i.is_call();
    flow.size() <= LARGEST && subject.code.iter().filter(calls).count() <= CALLS
}

/// The argument for a parameter.
pub(super) enum Given {
    Word(Value),
    Float(Value),
}

impl<'a> Body<'a, '_> {
    /// Returns the callee of a call, if it is inlined.
    pub(super) fn inlined(
        &self,
        callee: Callee,
        expected: Kinds,
        args: &[Operand],
    ) -> Option<&'a (Subject<'a>, Dataflow)> {
        let index = callee.own()?;
        let looked = self.functions[index].as_ref()?;
        let (subject, flow) = looked;
        let code = subject.code;
        let calls = code.iter().filter_map(|i| match i {
            Instr::Call { function, .. } => Some(*function),
            _ => None,
        });
        let calls: Vec<u32> = calls.collect();
        let calls_itself = calls.iter().any(|function| subject.is_self(*function));
        let goes_on = code.iter().any(|i| match i {
            Instr::TailCall { function, .. } => !subject.is_self(*function),
            // What is called is not known.
            Instr::CallFun { .. } | Instr::TailCallFun { .. } => true,
            _ => false,
        });
        let level = self.active.inlined.map_or(0, |inlined| inlined.level);
        let (levels, calls_most) = match self.active.subject.index == Some(index) {
            true => (SELF_LEVELS, CALLS),
            // A function that calls itself, or a loop with calls, has more to do than to be called.
            false if calls_itself || flow.loops => (LEVELS, 0),
            false => (LEVELS, CALLS),
        };
        let fits = self.mode == Mode::Fast
            && self.inlining.calls == Calls::InLine
            && level < levels
            && flow.size() <= LARGEST
            && self.inlining.size + flow.size() <= MOST
            && calls.len() <= calls_most
            && !goes_on;
        let given = (flow.inputs.iter().zip(args)).all(|(kinds, arg)| match *kinds {
            Kinds::FIXNUM => self.kinds(*arg) == Kinds::FIXNUM,
            Kinds::FLOAT => self.is_machine_float(*arg),
            kinds => self.kinds(*arg).is(kinds),
        });
        let answers = [Kinds::FIXNUM, Kinds::FLOAT, Kinds::BOOLEAN, Kinds::ANY];
        (fits && given && answers.contains(&expected)).then_some(looked)
    }

    /// Inlines a call, once it has been paid for.
    pub(super) fn inline(
        &mut self,
        d: Register,
        args: &[Operand],
        looked: &'a (Subject<'a>, Dataflow),
        expected: Kinds,
    ) {
        let usual = self.next_block();
        let answers = if expected == Kinds::FLOAT { F64 } else { I64 };
        let answer = self.b.append_block_param(usual, answers);
        self.inline_to(Usual::On(usual), d, args, looked, expected);
        self.come_to(usual);
        match expected {
            Kinds::FLOAT => self.set_float(d, answer),
            _ => self.set_word(d, answer),
        }
    }

    /// Compiles a call together with the branch that follows it, if its answer is a truth value and it is inlined.
    pub(super) fn call_and_branch(&mut self, i: usize) -> bool {
        let code = self.active.subject.code;
        let (
            Instr::Call {
                dst,
                function,
                args,
            },
            Some(next),
        ) = (&code[i], code.get(i + 1))
        else {
            return false;
        };
        let (Instr::Branch {
            condition: asked,
            label,
        }
        | Instr::Falsy {
            value: asked,
            label,
        }) = next
        else {
            return false;
        };
        let follows = self.mode == Mode::Fast
            && *asked == Operand::Register(*dst)
            && self.active.flow.labels[i + 1].is_none()
            && self.active.subject.returns(*function) == Kinds::BOOLEAN;
        let callee = self.unit.callee(*function);
        let looked = follows.then(|| self.inlined(callee, Kinds::BOOLEAN, args));
        let Some(looked) = looked.flatten() else {
            return false;
        };
        self.spend_for_call();
        let (yes, no) = (self.next_block(), self.next_block());
        self.inline_to(Usual::Ways(yes, no), *dst, args, looked, Kinds::BOOLEAN);
        for (block, holds) in [(no, false), (yes, true)] {
            self.come_to(block);
            let holds = self.always(holds);
            self.set_test(*dst, holds);
            if block == no {
                self.go(self.to(*label));
            }
        }
        true
    }

    /// Goes on where an inlined function comes back to.
    fn come_to(&mut self, block: Block) {
        self.positions.forget();
        self.current.clear();
        self.begin_block(block);
        self.return_here();
    }

    /// Inlines a function that comes back to `usual` with the usual answer, and goes on in the slow body with any other.
    fn inline_to(
        &mut self,
        usual: Usual,
        d: Register,
        args: &[Operand],
        (subject, flow): &'a (Subject<'a>, Dataflow),
        expected: Kinds,
    ) {
        let given = self.given(args, flow);
        self.inlining.size += flow.size();
        self.let_go_of_positions();
        let other = self.cold_block();
        let odd = self.b.append_block_param(other, I64);
        let level = self.active.inlined.map_or(0, |inlined| inlined.level);
        let inlined = Inlined {
            usual,
            other,
            expected,
            level: level + 1,
        };
        let mut activation = Activation::new(&mut self.b, subject, flow, Some(inlined));

        self.switch(&mut activation);
        self.current.clear();
        self.begin(&given, args);
        self.walk();
        self.switch(&mut activation);
        self.inlining.unfinished.push(activation);

        self.positions.forget();
        self.current.clear();
        self.b.switch_to_block(other);
        self.return_here();
        let here = self.active.here.clone();
        self.set_word(d, odd);
        self.go(super::Destination::Slow(self.active.at + 1));
        self.active.here = here;
    }

    /// Returns the arguments of an inlined function, in the forms that its parameters take.
    pub(super) fn given(&mut self, args: &[Operand], to: &Dataflow) -> Vec<Given> {
        let args = args.iter().zip(&to.inputs);
        args.map(|(arg, kinds)| match *kinds {
            Kinds::FLOAT => Given::Float(self.machine_float(*arg)),
            _ => Given::Word(self.word(*arg)),
        })
        .collect()
    }

    /// Takes over the arguments as its parameters, as what they are taken for.
    pub(super) fn take_over(&mut self, given: &[Given]) {
        for (i, given) in given.iter().enumerate() {
            match given {
                Given::Word(word) => self.set_word(i as Register, *word),
                Given::Float(float) => self.set_float(i as Register, *float),
            }
        }
    }

    /// The start of an inlined function.
    fn begin(&mut self, given: &[Given], args: &[Operand]) {
        self.take_over(given);
        if !self.active.flow.loops {
            return;
        }
        for (i, arg) in args.iter().enumerate() {
            let small = self
                .fixnum_constant(*arg)
                .is_some_and(|n| n.abs() < FIXNUM_MAX / 2);
            if self.active.flow.counters[i] && !small {
                let word = self.b.use_var(self.active.words[i]);
                self.has_room(word);
            }
        }
        self.begin_apart(given);
        self.begin_rounds();
    }

    /// Gives the loop floats of its own: those of its caller may be kept in memory, across calls, and what begins as the
    /// same would be kept in the same place. Adding -0.0 changes none of them, which Cranelift does not know.
    pub(super) fn begin_apart(&mut self, given: &[Given]) {
        let nothing = self.b.ins().f64const(-0.0);
        let mut apart: Vec<(Value, Value)> = Vec::new();
        for (i, given) in given.iter().enumerate() {
            let Given::Float(float) = *given else {
                continue;
            };
            let last = apart.iter().rev().find(|(of, _)| *of == float);
            let last = last.map_or(float, |(_, last)| *last);
            let own = self.b.ins().fadd(last, nothing);
            apart.push((float, own));
            self.b.def_var(self.active.floats[i], own);
        }
    }

    /// An inlined loop that has to begin again: the function is called for the rest.
    pub(super) fn call_for_the_rest(&mut self, inlined: Inlined, args: &[Operand]) {
        let index = self.active.subject.index.expect("functions are in line");
        let piece = self.active.subject.boxing(index).unwrap_or(index);
        let mut words = self.arguments(args);
        for word in &mut words[1..] {
            *word = self.by_memory(*word);
        }
        self.write_down();
        let function = self.own(piece, args.len(), false);
        let call = self.b.ins().call(function, &words);
        let results = self.b.inst_results(call);
        let (value, budget) = (results[0], results[1]);
        self.b.def_var(self.budget, budget);
        self.leave_unless(value, super::Destination::Stopped);
        self.come_back_other(inlined, value);
    }

    /// The budget is the caller's again.
    fn return_here(&mut self) {
        let budget = self.b.use_var(self.budget);
        self.returned(budget);
    }

    /// The slow bodies of the inlined functions.
    pub(super) fn finish_inlined(&mut self) {
        for mut activation in take(&mut self.inlining.unfinished) {
            self.switch(&mut activation);
            self.walk();
            self.switch(&mut activation);
        }
    }

    /// Comes back to the caller that this is inlined into.
    pub(super) fn come_back(&mut self, inlined: Inlined, operand: Operand) {
        let usual = self.mode == Mode::Fast
            && match inlined.expected {
                Kinds::FLOAT => self.is_machine_float(operand),
                kinds => self.kinds(operand).is(kinds),
            };
        match inlined.usual {
            Usual::On(block) if usual => {
                let answer = match inlined.expected {
                    Kinds::FLOAT => self.machine_float(operand),
                    _ => self.word(operand),
                };
                self.write_down();
                self.b.ins().jump(block, &[answer.into()]);
            }
            Usual::Ways(yes, no) if usual => {
                let holds = self.is_true(operand);
                self.write_down();
                self.b.ins().brif(holds, yes, &[], no, &[]);
            }
            _ => {
                let answer = self.word(operand);
                self.write_down();
                self.come_back_other(inlined, answer);
            }
        }
    }

    /// Comes back to the slow body of the caller.
    fn come_back_other(&mut self, inlined: Inlined, answer: Value) {
        let budget = self.b.use_var(self.budget);
        let budget = self.by_memory(budget);
        self.b.def_var(self.budget, budget);
        self.b.ins().jump(inlined.other, &[answer.into()]);
    }

    /// Returns whether an operand is a float that is there as a machine float.
    fn is_machine_float(&self, operand: Operand) -> bool {
        match operand {
            Operand::Register(r) => self.active.here[r as usize].float,
            Operand::Constant(_) => self.constant_of(operand).as_float().is_some(),
        }
    }

    pub(super) fn machine_float(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Register(r) => self.b.use_var(self.active.floats[r as usize]),
            Operand::Constant(_) => {
                let float = self.constant_of(operand).as_float().unwrap_or(f64::NAN);
                self.b.ins().f64const(float)
            }
        }
    }
}
