//! What is known of the registers at each point of a code, before any of it is compiled.
//!
//! Jumps go forward only, so one pass in the order of the instructions meets every path; only the parameters of a
//! function that calls itself last (a loop) need repetition. The compiler (body/) walks the same states again with
//! the same functions, so what is known here is what holds there.
//!
//! All of it is about the fast body. It includes what the fast body itself has tested; when a test fails, the fast body
//! leaves for the slow one. Nothing is assumed about the slow body.
use super::facts::{Knowledge, Known};
use super::kinds::Kinds;
use super::live::{live, Registers};
use super::loop_carried::LoopCarried;
use super::range::Range;
use super::subject::Subject;
use mote_vm::code::ir::{Instr, Label};

/// What is known of a code.
pub(super) struct Dataflow {
    /// What the fast body takes for granted of the parameters; tested before it is entered.
    pub(super) inputs: Vec<Kinds>,
    /// What holds where jumps lead, for those that anything jumps to.
    pub(super) labels: Vec<Option<Knowledge>>,
    /// The registers that are still read, before each instruction.
    pub(super) live: Vec<Registers>,
    pub(super) loops: bool,
    /// The integers that a loop only ever passes on as they are, or a small step further.
    pub(super) steps: Vec<bool>,
    /// Those of them that the fast body is entered with half of the integers around free, so that steps need no test:
    /// that many rounds have more than a slice of fuel, and the next slice is taken before it is entered again. Where the
    /// loop calls others, which take slices, there are none.
    pub(super) counters: Vec<bool>,
    /// What it answers in the fast body, as [`Subject::returns`] has it: nothing if it never does.
    pub(super) answers: Kinds,
    /// What it calls, and what kinds it passes.
    pub(super) calls: Vec<(u32, Vec<Kinds>)>,
    /// Instructions, but for those on whose way there is nothing but an abort.
    pub(super) size: usize,
    registers: u16,
}

/// See [`Dataflow::size`].
fn size(code: &[Instr]) -> usize {
    let mut aborts = vec![false; code.len() + 1];
    for (at, instruction) in code.iter().enumerate().rev() {
        aborts[at] = match instruction {
            Instr::Abort { .. } => true,
            Instr::Tuple { .. } | Instr::Cons { .. } | Instr::Move { .. } => aborts[at + 1],
            _ => false,
        };
    }
    aborts[..code.len()]
        .iter()
        .filter(|aborts| !**aborts)
        .count()
}

impl Dataflow {
    pub(super) fn of(subject: &Subject<'_>) -> Dataflow {
        let mut flow = Dataflow {
            inputs: vec![Kinds::ANY; subject.inputs as usize],
            labels: Vec::new(),
            live: live(subject.code),
            loops: subject.code.iter().any(
                |i| matches!(i, Instr::TailCall { function, .. } if subject.is_self(*function)),
            ),
            steps: vec![false; subject.inputs as usize],
            counters: vec![false; subject.inputs as usize],
            answers: Kinds::NONE,
            calls: Vec::new(),
            size: size(subject.code),
            registers: subject.registers,
        };
        let mut again = flow.run(subject);
        if subject.index.is_none() {
            return flow;
        }
        if !flow.loops {
            flow.inputs = again.inputs_as_passed(subject.passed());
            flow.run(subject);
            return flow;
        }
        // Optimistic assumptions first: each pass may give the next one reason for more.
        for _ in 0..4 {
            let hoped = again.inputs();
            if hoped == flow.inputs {
                break;
            }
            flow.inputs = hoped;
            again = flow.run(subject);
        }
        // Then only what comes round as it went in.
        while !flow.confirm(&again) {
            again = flow.run(subject);
        }
        let steps = |i: usize| flow.inputs[i] == Kinds::FIXNUM && again.steps[i] == Some(true);
        flow.steps = (0..flow.inputs.len()).map(steps).collect();
        let called = |i: &Instr| matches!(i, Instr::Call { .. });
        if !subject.code.iter().any(called) {
            flow.counters.clone_from(&flow.steps);
        }
        flow
    }

    /// What holds at the start of the fast body.
    pub(super) fn start(&self) -> Knowledge {
        let mut registers = vec![Known::NOTHING; self.registers as usize];
        for (i, (register, kinds)) in registers.iter_mut().zip(&self.inputs).enumerate() {
            *register = Known {
                kinds: *kinds,
                unboxed: *kinds == Kinds::FLOAT,
                param: Some(i as u16),
                stepped: None,
                range: Range::ALL,
            };
        }
        Knowledge {
            registers,
            facts: Vec::new(),
            orders: Vec::new(),
        }
    }

    fn run(&mut self, subject: &Subject<'_>) -> LoopCarried {
        let mut again = LoopCarried {
            passed: vec![None; self.inputs.len()],
            steps: vec![None; self.inputs.len()],
            used_as: vec![Kinds::NONE; self.inputs.len()],
            either: vec![false; self.inputs.len()],
        };
        self.answers = Kinds::NONE;
        self.calls.clear();
        self.labels = vec![None; subject.code.len()];
        let mut state = Some(self.start());
        for (i, instruction) in subject.code.iter().enumerate() {
            if let Some(jumped) = &mut self.labels[i] {
                if let Some(state) = &state {
                    jumped.join(state);
                }
                jumped.forget_tests();
                state = Some(jumped.clone());
            }
            let Some(now) = &mut state else { continue };
            if let Some(label) = instruction.label() {
                let there = now.after_jump(instruction);
                match &mut self.labels[label as usize] {
                    Some(known) => known.join(&there),
                    none => *none = Some(there),
                }
            }
            if let Instr::Call { function, args, .. } | Instr::TailCall { function, args } =
                instruction
            {
                let kinds = args.iter().map(|arg| now.kinds(*arg, subject.constants));
                self.calls.push((*function, kinds.collect()));
            }
            match instruction {
                Instr::TailCall { function, args } if subject.is_self(*function) => {
                    again.pass(now, args, subject.constants);
                }
                Instr::TailCall { function, .. } => {
                    self.answers = self.answers.or(subject.returns(*function));
                }
                Instr::Return { value } => {
                    self.answers = self.answers.or(now.kinds(*value, subject.constants));
                }
                _ => {}
            }
            if instruction.falls_through() {
                let before = now.clone();
                now.pass(instruction, subject);
                again.uses(&before, now, instruction);
                if !self.loops {
                    again.doubt(&before, instruction, subject.constants);
                }
            } else {
                state = None;
            }
        }
        again
    }

    /// Takes back what does not come round; whether all did.
    fn confirm(&mut self, again: &LoopCarried) -> bool {
        let mut all = true;
        for (input, passed) in self.inputs.iter_mut().zip(&again.passed) {
            let holds = passed.is_none_or(|known| match *input {
                Kinds::FLOAT => known.unboxed,
                kinds => known.kinds.is(kinds),
            });
            if !holds {
                *input = Kinds::ANY;
                all = false;
            }
        }
        all
    }
}

impl Knowledge {
    /// Where an instruction can be jumped to, what is known there.
    pub(super) fn arrive(&mut self, at: Label, flow: &Dataflow) {
        if let Some(known) = &flow.labels[at as usize] {
            self.clone_from(known);
        }
    }
}
