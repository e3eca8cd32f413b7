//! Loops with inner loops: several rounds of the outer loop can run in lanes (body/lanes.rs) if it is certain what they
//! do.
//!
//! The outer loop counts (counted_loops.rs). Its round calls functions of the unit that have a single path, or that are
//! loops themselves and count from a constant to a constant: then the number of their rounds is known. So a round is a
//! list of steps through the **frames** of what it calls, and the rounds of the inner loops are the same for all lanes.
//!
//! Up to the end of its last inner loop a round needs nothing that the round before computes. It uses only counters and
//! values that all rounds are passed alike.
use super::counted_loops::{Counted, ROUNDS};
use super::dataflow::Dataflow;
use super::facts::Knowledge;
use super::intervals::{self, Interval};
use super::kinds::Kinds;
use super::linear::integer;
use super::path::{Limit, Path};
use super::subject::Subject;
use super::unit::AnalysedCode;
use mote_vm::code::ir::{Instr, Label, Operand, Register};
use mote_vm::native::SLICE;
use mote_vm::values::value::FIXNUM_MAX;
use std::mem::take;
use std::rc::Rc;

/// The most steps of a round.
const LONGEST: usize = 48;
/// Levels to which calls in it nest.
const LEVELS: i64 = 3;

pub(super) struct LoopNest<'a> {
    pub(super) counted: Rc<Counted>,
    /// The first one is the loop's.
    pub(super) frames: Vec<NestFrame<'a>>,
    /// Steps of a round before it needs any result of the round before: steps to an inner loop, and that loop, each.
    pub(super) prologue: Vec<(Vec<Step>, InnerLoop)>,
    /// The rest of the round, which needs such results.
    pub(super) epilogue: Vec<Step>,
    /// The parameters that the rest reads.
    pub(super) carried_in: Vec<usize>,
    /// Fuel that a round spends, and how deep its calls nest.
    pub(super) price: i64,
    pub(super) depth: i64,
}

/// A function that the loop is in the middle of: itself, or one that it calls.
#[derive(Clone, Copy)]
pub(super) struct NestFrame<'a> {
    pub(super) subject: &'a Subject<'a>,
    pub(super) flow: &'a Dataflow,
}

pub(super) enum Step {
    /// An instruction of a frame that computes something.
    Compute { frame: usize, at: Label },
    /// The call there is made, to a frame.
    Enter { frame: usize, at: Label, to: usize },
    /// The call there has come to an answer, of the frame that it was made to.
    Return {
        from: usize,
        value: Operand,
        frame: usize,
        at: Label,
    },
}

/// A loop in the round of another that has been entered: all of its rounds, up to the start of the one that ends it.
pub(super) struct InnerLoop {
    pub(super) frame: usize,
    pub(super) counted: Rc<Counted>,
    /// Values that it begins with, where they are constant.
    pub(super) begun: Vec<Option<i64>>,
    pub(super) rounds: i64,
    /// Its floats are finite if it begins with floats in there.
    pub(super) within: Interval,
}

impl<'a> LoopNest<'a> {
    /// The nest of a loop, if its rounds can run in lanes.
    pub(super) fn of(
        subject: &'a Subject<'a>,
        flow: &'a Dataflow,
        functions: &'a [AnalysedCode<'a>],
    ) -> Option<LoopNest<'a>> {
        let calls = |i: &Instr| matches!(i, Instr::Call { .. });
        if !flow.loops || !subject.code.iter().any(calls) {
            return None;
        }
        let counted = Counted::of(subject, flow, true)?;
        let mut tracer = Tracer {
            functions,
            frames: vec![NestFrame { subject, flow }],
            prologue: Vec::new(),
            steps: Vec::new(),
            count: 0,
            price: 1,
            depth: 0,
        };
        tracer.follow(0, &counted.round, 0)?;
        let carried_in = carried_in(&counted, subject.code, &tracer.prologue)?;
        let worth = !tracer.prologue.is_empty() && ROUNDS * tracer.price <= SLICE as i64;
        worth.then_some(LoopNest {
            counted: Rc::new(counted),
            frames: tracer.frames,
            prologue: tracer.prologue,
            epilogue: tracer.steps,
            carried_in,
            price: tracer.price,
            depth: tracer.depth,
        })
    }
}

/// The parameters that the round before computes and that are still what it handed on after the early steps; `None` if
/// one of these steps needs them.
fn carried_in(
    counted: &Counted,
    code: &[Instr],
    prologue: &[(Vec<Step>, InnerLoop)],
) -> Option<Vec<usize>> {
    let same = |i: usize| counted.steps[i].is_some() || counted.fixed[i];
    let mut epilogue: Vec<usize> = (0..counted.handed.len()).filter(|i| !same(*i)).collect();
    for step in prologue.iter().flat_map(|(steps, _)| steps) {
        let (at, reads, writes) = match step {
            Step::Compute { frame: 0, at } => (at, true, true),
            Step::Enter { frame: 0, at, .. } => (at, true, false),
            Step::Return { frame: 0, at, .. } => (at, false, true),
            _ => continue,
        };
        let instruction = &code[*at as usize];
        let mut needed = false;
        instruction.for_each_operand(|operand| {
            let is_late = |r: Register| epilogue.contains(&(r as usize));
            needed |= matches!(operand, Operand::Register(r) if is_late(r));
        });
        if reads && needed {
            return None;
        }
        if writes {
            let written = instruction.written();
            epilogue.retain(|i| !written.iter().any(|range| range.contains(&(*i as u32))));
        }
    }
    Some(epilogue)
}

struct Tracer<'a> {
    functions: &'a [AnalysedCode<'a>],
    frames: Vec<NestFrame<'a>>,
    prologue: Vec<(Vec<Step>, InnerLoop)>,
    /// Steps since the last inner loop.
    steps: Vec<Step>,
    count: usize,
    price: i64,
    depth: i64,
}

impl<'a> Tracer<'a> {
    /// The steps of a frame that computes this; `None` if they are not certain, or too many.
    fn follow(&mut self, frame: usize, computes: &[Label], level: i64) -> Option<()> {
        let NestFrame { subject, flow } = self.frames[frame];
        let mut state = flow.start();
        for at in computes {
            state.arrive(*at, flow);
            let instruction = &subject.code[*at as usize];
            match instruction {
                Instr::Call { function, args, .. } => {
                    self.call((frame, *at), *function, args, &state, level + 1)?;
                }
                _ => self.steps.push(Step::Compute { frame, at: *at }),
            }
            state.transfer(instruction, subject);
        }
        self.count += computes.len();
        (self.count <= LONGEST).then_some(())
    }

    fn call(
        &mut self,
        (frame, at): (usize, Label),
        function: u32,
        args: &[Operand],
        state: &Knowledge,
        level: i64,
    ) -> Option<()> {
        let caller = self.frames[frame].subject;
        let (subject, flow) = self.functions[caller.own(function)?].as_ref()?;
        let takes = (args.iter().zip(&flow.inputs)).all(|(arg, kinds)| {
            let known = state.operand(*arg, caller.constants);
            let float = known.unboxed || is_float_constant(*arg, &known.kinds);
            match *kinds {
                Kinds::FLOAT => float,
                Kinds::FIXNUM => known.kinds == Kinds::FIXNUM,
                kinds => known.kinds.is(kinds) && !known.unboxed,
            }
        });
        if !takes || level > LEVELS {
            return None;
        }
        let to = self.frames.len();
        self.frames.push(NestFrame { subject, flow });
        self.steps.push(Step::Enter { frame, at, to });
        self.price += 1;
        self.depth = self.depth.max(level);
        let is_end = |i: &Instr| matches!(i, Instr::Return { .. });
        let end = subject.code.iter().position(is_end)?;
        if subject.code[end + 1..].iter().any(is_end) {
            return None;
        }
        let path = Path::to(end, subject, flow, !flow.loops)?;
        if flow.loops {
            let begun = args.iter().map(|arg| integer(*arg, caller.constants));
            let inner = inner_loop(to, begun.collect(), &path, self.frames[to])?;
            self.price += inner.rounds;
            self.prologue.push((take(&mut self.steps), inner));
        } else if !path.taken_if.is_empty() {
            return None;
        }
        self.follow(to, &path.computes, level)?;
        let Instr::Return { value } = subject.code[end] else {
            return None;
        };
        let answer = path.state.operand(value, subject.constants);
        let usual = match caller.returns(function) {
            Kinds::FLOAT => answer.unboxed || is_float_constant(value, &answer.kinds),
            Kinds::FIXNUM => answer.kinds == Kinds::FIXNUM,
            _ => false,
        };
        self.steps.push(Step::Return {
            from: to,
            value,
            frame,
            at,
        });
        usual.then_some(())
    }
}

fn is_float_constant(operand: Operand, kinds: &Kinds) -> bool {
    matches!(operand, Operand::Constant(_)) && *kinds == Kinds::FLOAT
}

/// A loop that begins with that and whose last way is that, if it is known how many rounds it makes before.
fn inner_loop(
    frame: usize,
    begun: Vec<Option<i64>>,
    last: &Path<'_>,
    of: NestFrame<'_>,
) -> Option<InnerLoop> {
    let counted = Counted::of(of.subject, of.flow, false)?;
    // Nothing but the first comparison that ends a round leads there.
    let [goes] = &last.taken_if[..] else {
        return None;
    };
    if counted.exit != Some(goes.at) {
        return None;
    }
    let mut rounds = counted.bounds.iter().map(|bound| {
        let limit = match bound.bound {
            Limit::Constant(limit) => Some(limit),
            Limit::Parameter(limit) => begun[limit as usize],
        };
        let near = |n: &i64| n.abs() < FIXNUM_MAX / 4;
        let counter = begun[bound.counter as usize].filter(near)?;
        bound.rounds(counter, limit.filter(near)?)
    });
    let first = rounds.next()??;
    if first > SLICE as i64 || rounds.any(|rounds| rounds != Some(first)) {
        return None;
    }
    let within = intervals::beginning(&counted, of.subject, of.flow)?;
    drop(rounds);
    Some(InnerLoop {
        frame,
        counted: Rc::new(counted),
        begun,
        rounds: first,
        within,
    })
}
