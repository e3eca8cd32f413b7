//! From the instructions of one code to Cranelift's.
//!
//! Each code is compiled twice into one native function. The **fast body** assumes what is usual (integers that fit,
//! floats of common exponents, lists where lists are taken apart) and leaves, at the first thing that is not, for the
//! same instruction of the **slow body**, which assumes nothing and asks helpers. So the fast body carries types and
//! unboxed floats along without ever meeting the unusual, and the slow one is small.
//!
//! Registers are variables of Cranelift's SSA construction, one for the value's word and one for the machine float.
//! [`Here`] says which of them hold at the current point; edges convert to what their target expects.
//!
//! Here: control, edges, moves. The operations are in the other files of this folder.
mod binaries;
mod budget;
mod calls;
mod effects;
mod floats;
mod inline;
mod numbers;
mod positions;
mod shapes;
mod strides;
mod tests;

use super::compile::{Looked, Unit};
use super::flow::{Flow, Plan, State};
use super::kinds::Kinds;
use super::layout;
use super::learned::Subject;
use super::stubs::{operand, Seldom};
use crate::code::ir::{Instr, Label, Operand, Register};
use crate::code::primitive::Primitive;
use crate::turn::Stop;
use crate::value::Value as Word;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F64, I32, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, InstBuilder, MemFlagsData, SigRef, Signature, Type, Value,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, Variable};
use inline::{Activation, Inlined};
use positions::Positions;
use strides::Stride;

/// What the code is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Called with a turn, an actor and a message; answers how the turn ended.
    Behaviour { captures: u16 },
    /// Called with a turn, a budget (budget.rs) and arguments; answers a value (0: stopped) and what is left of the
    /// budget. One that is `unboxed` answers a machine float, too, which counts if the value says so.
    Function { index: usize, unboxed: bool },
}

impl Role {
    pub(super) fn signature(self, arity: u16, host: CallConv) -> Signature {
        let word = AbiParam::new(I64);
        let (convention, params, returns) = match self {
            Role::Behaviour { .. } => (host, vec![word; 3], vec![AbiParam::new(I32)]),
            Role::Function { unboxed, .. } => {
                let mut returns = vec![word; 2];
                returns.extend(unboxed.then(|| AbiParam::new(F64)));
                (CallConv::Tail, vec![word; 2 + arity as usize], returns)
            }
        };
        Signature {
            params,
            returns,
            call_conv: convention,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Fast,
    Slow,
}

/// Which forms of a register hold at the current point.
#[derive(Clone, Copy, Default)]
struct Here {
    word: bool,
    float: bool,
    /// It is this truth value, and perhaps not written as a word.
    test: Option<Value>,
}

/// Where control may go.
#[derive(Clone, Copy)]
enum Target {
    Fast(Label),
    Slow(Label),
    Stopped,
}

pub(super) struct Body<'a, 'b> {
    b: FunctionBuilder<'b>,
    unit: &'a Unit<'a>,
    functions: &'a [Looked<'a>],
    subject: &'a Subject<'a>,
    flow: &'a Flow,
    role: Role,
    mode: Mode,
    /// What is known in the fast body; unused in the slow one.
    state: State,
    here: Vec<Here>,
    words: Vec<Variable>,
    floats: Vec<Variable>,
    budget: Variable,
    turn: Value,
    positions: Positions,
    /// The numbers of behaviours' versions that were looked up since the last label.
    current: Vec<(u32, Value)>,
    /// The instruction that is compiled.
    at: Label,
    /// Where the slow body takes over from here: the same instruction, or an earlier one whose float is `unproven`.
    resume: Label,
    /// The instruction has left a float that nobody knows yet to be finite.
    unproven: bool,
    /// What registers held at `resume` that have been written since and are read there: its forms, the word, the float.
    before: Vec<(Register, Here, Option<Value>, Option<Value>)>,
    fast: Vec<Option<Block>>,
    slow: Vec<Option<Block>>,
    stopped: Block,
    /// Where a loop begins again: tests what the fast body takes for granted, and the fast body itself.
    again: Option<Block>,
    fast_again: Option<Block>,
    /// Several rounds of a loop, while they are compiled.
    stride: Option<Stride>,
    strides_left: Variable,
    /// What the current activation is in line of, the activations in line whose slow bodies are not there yet, and how
    /// many instructions were made in line.
    inlined: Option<Inlined>,
    unfinished: Vec<Activation<'a>>,
    in_line: usize,
    /// Whether the behaviour calls anything, and so spends fuel.
    spends: bool,
    signatures: Vec<(Vec<Type>, Type, SigRef)>,
    /// The integer that was made a word last, and that word first.
    last_tagged: Option<(Value, Value)>,
}

/// Loads and stores of what is known to be there.
fn trusted() -> MemFlagsData {
    MemFlagsData::trusted()
}

/// Loads of what does not change while the function runs, and may be read at any time.
fn constant() -> MemFlagsData {
    MemFlagsData::trusted().with_readonly().with_can_move()
}

impl<'a, 'b> Body<'a, 'b> {
    /// Compiles the code into the function of the builder.
    pub(super) fn build(
        b: FunctionBuilder<'b>,
        unit: &'a Unit<'a>,
        functions: &'a [Looked<'a>],
        subject: &'a Subject<'a>,
        flow: &'a Flow,
        role: Role,
        config: TargetFrontendConfig,
    ) {
        let (mut body, params) = Body::new(b, unit, functions, subject, flow, role);
        body.enter(&params);
        body.walk();
        body.mode = Mode::Slow;
        body.finish_inlined();
        body.walk();
        body.finish(config);
    }

    /// The form of a function that answers words: calls the other one.
    pub(super) fn build_boxing(
        b: FunctionBuilder<'b>,
        unit: &'a Unit<'a>,
        functions: &'a [Looked<'a>],
        subject: &'a Subject<'a>,
        flow: &'a Flow,
        index: usize,
        config: TargetFrontendConfig,
    ) {
        let role = Role::Function {
            index,
            unboxed: false,
        };
        let (mut body, params) = Body::new(b, unit, functions, subject, flow, role);
        body.mode = Mode::Slow;
        body.boxing(index, &params);
        body.finish(config);
    }

    fn finish(mut self, config: TargetFrontendConfig) {
        self.stop_here();
        self.b.seal_all_blocks();
        self.b.finalize(config);
    }

    /// A body of which nothing is there yet, and what its function is called with.
    fn new(
        mut b: FunctionBuilder<'b>,
        unit: &'a Unit<'a>,
        functions: &'a [Looked<'a>],
        subject: &'a Subject<'a>,
        flow: &'a Flow,
        role: Role,
    ) -> (Self, Vec<Value>) {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let stopped = b.create_block();
        b.set_cold_block(stopped);
        let params = b.block_params(entry).to_vec();
        let n = subject.registers as usize;
        let words: Vec<_> = (0..n).map(|_| b.declare_var(I64)).collect();
        let floats: Vec<_> = (0..n).map(|_| b.declare_var(F64)).collect();
        let (budget, strides_left) = (b.declare_var(I64), b.declare_var(I64));
        let positions = Positions::new(&mut b);
        let calls = |i: &Instr| matches!(i, Instr::Call { .. });
        let spends = matches!(role, Role::Behaviour { .. }) && subject.code.iter().any(calls);
        let code = subject.code.len();
        let body = Body {
            b,
            unit,
            functions,
            subject,
            flow,
            role,
            mode: Mode::Fast,
            state: flow.start(),
            here: vec![Here::default(); n],
            words,
            floats,
            budget,
            turn: params[0],
            positions,
            current: Vec::new(),
            at: 0,
            resume: 0,
            unproven: false,
            before: Vec::new(),
            fast: vec![None; code],
            slow: vec![None; code],
            stopped,
            again: None,
            fast_again: None,
            stride: None,
            strides_left,
            inlined: None,
            unfinished: Vec::new(),
            in_line: 0,
            spends,
            signatures: Vec::new(),
            last_tagged: None,
        };
        (body, params)
    }

    /// The inputs into their registers, and the tests of what the fast body takes for granted.
    fn enter(&mut self, params: &[Value]) {
        match self.role {
            Role::Behaviour { captures } => {
                let (actor, message) = (params[1], params[2]);
                if self.spends {
                    self.whole_budget();
                }
                // An actor's state changes only when its turn has ended.
                let load =
                    |b: &mut FunctionBuilder, at, offset| b.ins().load(I64, constant(), at, offset);
                let state = match captures {
                    0 => None,
                    _ => Some(load(&mut self.b, actor, layout::STATE)),
                };
                for i in 0..captures {
                    let state = state.expect("a behaviour with captures has a state");
                    let capture = match captures {
                        1 => state,
                        _ => load(&mut self.b, state, 8 * i32::from(i)),
                    };
                    self.set_word(i, capture);
                }
                self.set_word(captures, message);
            }
            Role::Function { .. } => {
                self.b.def_var(self.budget, params[1]);
                for (i, param) in params[2..].iter().enumerate() {
                    self.set_word(i as Register, *param);
                }
            }
        }
        if !self.flow.loops && self.flow.inputs.iter().all(|kinds| *kinds == Kinds::ANY) {
            return;
        }
        let again = self.b.create_block();
        self.b.ins().jump(again, &[]);
        self.b.switch_to_block(again);
        self.again = Some(again);
        self.test_inputs();
        self.begin_rounds();
    }

    /// Tests what the fast body takes for granted, of words.
    fn test_inputs(&mut self) {
        for (i, kinds) in self.flow.inputs.iter().enumerate() {
            let word = self.b.use_var(self.words[i]);
            if *kinds == Kinds::FIXNUM {
                let is = self.is_fixnum(word);
                self.leave_unless(is, Target::Slow(0));
                if self.flow.counters[i] {
                    self.has_room(word);
                }
            } else if *kinds == Kinds::FLOAT {
                let is = self.is_flonum(word);
                self.leave_unless(is, Target::Slow(0));
                let float = self.decode(word);
                self.b.def_var(self.floats[i], float);
            }
        }
    }

    /// From what was tested to the fast body, by strides if it is a loop that counts.
    fn begin_rounds(&mut self) {
        let fast_again = self.b.create_block();
        self.strides(fast_again);
        self.b.switch_to_block(fast_again);
        self.fast_again = Some(fast_again);
        self.start_of_round();
    }

    /// Compiles all instructions that can be reached in this mode.
    fn walk(&mut self) {
        let subject = self.subject;
        let mut reached = self.mode == Mode::Fast;
        for (i, instruction) in subject.code.iter().enumerate() {
            let label = i as Label;
            let block = match self.mode {
                // Also where the jumps that flow.rs has met were left out: what is known here is what it knows.
                Mode::Fast if reached && self.flow.labels[i].is_some() => {
                    Some(self.block_of(Target::Fast(label)))
                }
                Mode::Fast => self.fast[i],
                Mode::Slow => self.slow[i],
            };
            if let Some(block) = block {
                if reached {
                    self.go(self.to(label));
                }
                self.arrive(label, block);
                reached = true;
            }
            if !reached {
                continue;
            }
            self.at = label;
            if !std::mem::take(&mut self.unproven) {
                self.resume = label;
                self.before.clear();
            }
            self.instruction(instruction);
            reached = instruction.falls_through();
            if reached && self.mode == Mode::Fast {
                self.state.pass(instruction, subject);
            }
        }
    }

    /// Goes on in a block that was jumped to.
    fn arrive(&mut self, label: Label, block: Block) {
        self.b.switch_to_block(block);
        // Jumps go forward, and the fast body is complete before the slow one: all that lead here are there.
        self.b.seal_block(block);
        self.positions.forget();
        self.current.clear();
        if self.mode == Mode::Fast {
            let known = self.flow.labels[label as usize].clone();
            self.state = known.expect("what is jumped to was met before");
        }
        for r in 0..self.here.len() {
            let float = self.mode == Mode::Fast && self.state.known(r as Register).unboxed;
            self.here[r] = Here {
                word: !float,
                float,
                test: None,
            };
        }
    }

    /// Where a jump of the current body to a label leads.
    fn to(&self, label: Label) -> Target {
        match self.mode {
            Mode::Fast => Target::Fast(label),
            Mode::Slow => Target::Slow(label),
        }
    }

    /// Where the fast body leaves for: the slow one.
    fn out(&self) -> Target {
        debug_assert!(self.mode == Mode::Fast);
        Target::Slow(self.resume)
    }

    fn block_of(&mut self, target: Target) -> Block {
        if let Some(stride) = &self.stride {
            return stride.given_up;
        }
        let (blocks, label) = match target {
            Target::Fast(label) => (&mut self.fast, label),
            Target::Slow(label) => (&mut self.slow, label),
            Target::Stopped => return self.stopped,
        };
        if let Some(block) = blocks[label as usize] {
            return block;
        }
        let block = self.b.create_block();
        if let Target::Slow(_) = target {
            self.b.set_cold_block(block);
        }
        blocks[label as usize] = Some(block);
        block
    }

    /// The registers that must be written as words on the way to a target.
    fn missing(&self, target: Target) -> Vec<Register> {
        let (label, known) = match target {
            Target::Fast(label) => (label, self.flow.labels[label as usize].as_ref()),
            Target::Slow(label) => (label, None),
            Target::Stopped => return Vec::new(),
        };
        let live = self.flow.live[label as usize].iter();
        live.filter(|r| {
            let unboxed = known.is_some_and(|state| state.known(*r).unboxed);
            debug_assert!(!unboxed || self.here[*r as usize].float);
            !unboxed && !self.here[*r as usize].word
        })
        .collect()
    }

    /// Whether control can go there as it is.
    fn is_ready(&self, target: Target) -> bool {
        let stops = matches!(target, Target::Stopped);
        self.stride.is_some()
            || self.missing(target).is_empty()
                && (stops || !self.positions.are_pending())
                && !self.goes_back(target)
    }

    /// Whether a target is an earlier instruction, which finds registers as they were.
    fn goes_back(&self, target: Target) -> bool {
        let resumes = matches!(target, Target::Slow(label) if label == self.resume);
        resumes && self.mode == Mode::Fast && !self.before.is_empty()
    }

    /// Has a register found as it is now where the slow body takes over.
    fn keep(&mut self, r: Register) {
        let read = self.flow.live[self.resume as usize]
            .iter()
            .any(|read| read == r);
        if !read || self.before.iter().any(|kept| kept.0 == r) {
            return;
        }
        let here = self.here[r as usize];
        let word = here.word.then(|| self.b.use_var(self.words[r as usize]));
        let float = here.float.then(|| self.b.use_var(self.floats[r as usize]));
        self.before.push((r, here, word, float));
    }

    fn put_back(&mut self) {
        for i in 0..self.before.len() {
            let (r, here, word, float) = self.before[i];
            if let Some(word) = word {
                self.b.def_var(self.words[r as usize], word);
            }
            if let Some(float) = float {
                self.b.def_var(self.floats[r as usize], float);
            }
            self.here[r as usize] = here;
        }
    }

    /// Ends the current block by going to a target.
    fn go(&mut self, target: Target) {
        if self.goes_back(target) {
            self.put_back();
        }
        for r in self.missing(target) {
            self.word_of(r);
        }
        if !matches!(target, Target::Stopped) {
            self.write_down();
        }
        let block = self.block_of(target);
        self.b.ins().jump(block, &[]);
    }

    /// Goes to a target if the condition holds, and on in a new block otherwise.
    fn leave_if(&mut self, condition: Value, target: Target) {
        let next = self.next_block();
        let block = self.departure(target);
        self.b.ins().brif(condition, block, &[], next, &[]);
        self.depart(block, target);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
    }

    /// Goes on in a new block if the condition holds, and to a target otherwise.
    fn leave_unless(&mut self, condition: Value, target: Target) {
        let next = self.next_block();
        let block = self.departure(target);
        self.b.ins().brif(condition, next, &[], block, &[]);
        self.depart(block, target);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
    }

    /// Where the current block goes on: as seldom met as it is.
    fn next_block(&mut self) -> Block {
        let next = self.b.create_block();
        let current = self.b.current_block();
        if current.is_some_and(|block| self.b.func.layout.is_cold(block)) {
            self.b.set_cold_block(next);
        }
        next
    }

    /// The target's block, or one of the way there if something must be converted on it.
    fn departure(&mut self, target: Target) -> Block {
        if self.is_ready(target) {
            return self.block_of(target);
        }
        let block = self.b.create_block();
        if !matches!(target, Target::Fast(_)) {
            self.b.set_cold_block(block);
        }
        block
    }

    /// The way from a block of `departure` to the target.
    fn depart(&mut self, block: Block, target: Target) {
        if self.is_ready(target) {
            return;
        }
        self.b.switch_to_block(block);
        self.b.seal_block(block);
        // What is written on the way is written only there.
        let here = self.here.clone();
        self.go(target);
        self.here = here;
    }

    /// The end of a turn, or of a call, that goes no further.
    fn stop_here(&mut self) {
        self.positions.forget();
        self.b.switch_to_block(self.stopped);
        match self.role {
            Role::Behaviour { .. } => self.end(super::STOPPED),
            Role::Function { .. } => {
                let none = self.b.ins().iconst(I64, 0);
                self.answer(none, None);
            }
        }
    }

    /// Ends a behaviour.
    fn end(&mut self, how: u32) {
        self.write_down();
        if self.spends {
            self.write_fuel();
            // Somebody has to fill it up.
            let unusual = self.b.ins().iconst(I32, 1);
            let at = layout::UNUSUAL;
            self.b.ins().store(trusted(), unusual, self.turn, at);
        }
        let how = self.b.ins().iconst(I32, i64::from(how));
        self.b.ins().return_(&[how]);
    }

    /// Says why the code stops. The caller goes to [`Target::Stopped`].
    fn halt(&mut self, stop: Stop, reason: Option<Value>) {
        let stop = self.b.ins().iconst(I32, stop as i64);
        self.b
            .ins()
            .store(trusted(), stop, self.turn, layout::HALT_STOP);
        if let Some(reason) = reason {
            self.b
                .ins()
                .store(trusted(), reason, self.turn, layout::HALT_REASON);
        }
    }

    /// Stops for that reason if the condition holds.
    fn abort_if(&mut self, condition: Value, reason: Word) {
        let (stop, next) = (self.b.create_block(), self.next_block());
        self.b.set_cold_block(stop);
        self.b.ins().brif(condition, stop, &[], next, &[]);
        self.b.switch_to_block(stop);
        self.b.seal_block(stop);
        let reason = self.literal(reason);
        self.halt(Stop::Aborted, Some(reason));
        self.go(Target::Stopped);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
    }

    fn instruction(&mut self, instruction: &Instr) {
        match instruction {
            Instr::Move { dst, src } => self.copy(*dst, *src),
            Instr::Op {
                dst,
                primitive,
                args,
            } => self.primitive(*dst, *primitive, args, None),
            Instr::GuardOp {
                dst,
                primitive,
                args,
                label,
            } => self.primitive(*dst, *primitive, args, Some(*label)),
            Instr::Jump { label } => self.go(self.to(*label)),
            Instr::Branch { condition, label } => {
                let holds = self.is_true(*condition);
                self.leave_unless(holds, self.to(*label));
            }
            Instr::Falsy { value, label } => {
                let word = self.word(*value);
                let is_false = self.is_word(word, Word::FALSE);
                let is_nil = self.is_word(word, Word::NIL);
                let falsy = self.b.ins().bor(is_false, is_nil);
                self.leave_if(falsy, self.to(*label));
            }
            Instr::Abort { reason } => {
                let reason = self.word(*reason);
                self.halt(Stop::Aborted, Some(reason));
                self.go(Target::Stopped);
            }
            Instr::Done => self.end(super::DONE),
            Instr::Ignore => self.end(super::IGNORED),
            Instr::Match { left, right, label } => self.matching(*left, *right, *label),
            Instr::MatchTuple {
                value,
                count,
                first,
                label,
            } => self.match_tuple(*value, *count as usize, *first, *label),
            Instr::MatchCons {
                value,
                head,
                tail,
                label,
            } => self.match_cons(*value, *head, *tail, *label),
            Instr::Tuple { dst, elements } => self.tuple(*dst, elements),
            Instr::Cons { dst, head, tail } => self.cons(*dst, *head, *tail),
            Instr::Call {
                dst,
                function,
                args,
            } => self.call(*dst, *function, args),
            Instr::TailCall { function, args } => self.tail_call(*function, args),
            Instr::Return { value } => self.give_back(*value),
            effect => self.effect(effect),
        }
    }

    fn primitive(&mut self, d: Register, p: Primitive, args: &[Operand], label: Option<Label>) {
        let plan = match self.mode {
            Mode::Fast => self.state.plan(p, args, self.subject.constants),
            Mode::Slow if is_test(p) => Plan::Test,
            Mode::Slow => Plan::Helper,
        };
        match plan {
            Plan::Fixnums => {
                let word = self.fixnums(p, args);
                self.set_word(d, word);
            }
            Plan::Floats => {
                let float = self.floats(d, p, args);
                self.set_float(d, float);
            }
            Plan::Numbers => {
                let word = self.numbers(p, args);
                self.set_word(d, word);
            }
            Plan::Test => {
                let holds = self.test(p, args);
                self.set_test(d, holds);
            }
            Plan::Take => self.take(d, p, args, label),
            Plan::Helper if self.mode == Mode::Fast && self.read(d, p, args, label) => {}
            Plan::Helper => {
                let answer = self.asked(p, args, label);
                self.set_word(d, answer);
            }
        }
    }

    /// The answer of a primitive by its helper; goes to the label without one.
    fn asked(&mut self, p: Primitive, args: &[Operand], label: Option<Label>) -> Value {
        let mut words = vec![self.turn, self.b.ins().iconst(I64, i64::from(p.number()))];
        for i in 0..3 {
            let word = match args.get(i) {
                Some(arg) => self.word(*arg),
                None => self.b.ins().iconst(I64, 0),
            };
            words.push(word);
        }
        let answer = match (self.mode, label) {
            (Mode::Fast, _) => {
                let helper = super::helpers::of(p, label.is_some());
                self.paid_helper(helper, &words)
            }
            (Mode::Slow, Some(_)) => self.paid_seldom(Seldom::Guard, &words),
            (Mode::Slow, None) => self.paid_seldom(Seldom::Op, &words),
        };
        if let Some(label) = label {
            let none = self
                .b
                .ins()
                .icmp_imm_s(IntCC::Equal, answer, layout::NO_ANSWER as i64);
            self.leave_if(none, self.to(label));
        }
        answer
    }

    /// Calls a helper that answers a word, and stops if it says so.
    fn helper(&mut self, helper: *const (), args: &[Value]) -> Value {
        self.answered(false, |body| body.outside(helper, args, I64))
    }

    /// The same for a helper that may spend fuel for what it walks over: of what the turn has left.
    fn paid_helper(&mut self, helper: *const (), args: &[Value]) -> Value {
        self.answered(true, |body| body.outside(helper, args, I64))
    }

    /// As `helper`, where it seldom happens.
    fn seldom(&mut self, helper: Seldom, args: &[Value]) -> Value {
        self.answered(false, |body| body.by_stub(helper, args))
    }

    /// As `paid_helper`, where it seldom happens.
    fn paid_seldom(&mut self, helper: Seldom, args: &[Value]) -> Value {
        self.answered(true, |body| body.by_stub(helper, args))
    }

    fn answered(&mut self, paid: bool, call: impl FnOnce(&mut Self) -> Value) -> Value {
        let spends = paid && (self.spends || matches!(self.role, Role::Function { .. }));
        if spends {
            self.write_fuel();
        }
        self.write_positions();
        let answer = call(self);
        if spends {
            self.read_fuel();
        }
        self.leave_unless(answer, Target::Stopped);
        self.read_positions();
        answer
    }

    fn by_stub(&mut self, helper: Seldom, args: &[Value]) -> Value {
        let (stub, signature) = self.unit.stubs.of(helper);
        let signature = self.b.import_signature(signature);
        let stub = self.b.ins().iconst(I64, stub as i64);
        let turn = self.turn;
        for (i, arg) in args[1..].iter().enumerate() {
            let at = operand(i as i32);
            self.b.ins().store(trusted(), *arg, turn, at);
        }
        self.b.ins().call_indirect(signature, stub, &[turn]);
        self.b.ins().load(I64, trusted(), turn, layout::ANSWER)
    }

    /// Calls a function of Rust or C.
    fn outside(&mut self, function: *const (), args: &[Value], answer: Type) -> Value {
        let types: Vec<Type> = args
            .iter()
            .map(|a| self.b.func.dfg.value_type(*a))
            .collect();
        let known = self
            .signatures
            .iter()
            .find(|s| s.0 == types && s.1 == answer);
        let signature = match known {
            Some((_, _, signature)) => *signature,
            None => {
                let signature = self.b.import_signature(Signature {
                    params: types.iter().map(|t| AbiParam::new(*t)).collect(),
                    returns: vec![AbiParam::new(answer)],
                    call_conv: self.unit.host,
                });
                self.signatures.push((types, answer, signature));
                signature
            }
        };
        let address = self.b.ins().iconst(I64, function as i64);
        let call = self.b.ins().call_indirect(signature, address, args);
        self.b.inst_results(call)[0]
    }

    fn copy(&mut self, d: Register, src: Operand) {
        let r = match src {
            Operand::Constant(_) => {
                let value = self.constant_of(src);
                let word = self.literal(value);
                self.set_word(d, word);
                if let (Some(f), Mode::Fast) = (value.as_float(), self.mode) {
                    let float = self.b.ins().f64const(f);
                    self.b.def_var(self.floats[d as usize], float);
                    self.here[d as usize].float = true;
                }
                return;
            }
            Operand::Register(r) => r as usize,
        };
        let here = self.here[r];
        if here.word {
            let word = self.b.use_var(self.words[r]);
            self.b.def_var(self.words[d as usize], word);
        }
        if here.float {
            let float = self.b.use_var(self.floats[r]);
            self.b.def_var(self.floats[d as usize], float);
        }
        self.here[d as usize] = here;
    }

    fn set_word(&mut self, r: Register, word: Value) {
        self.b.def_var(self.words[r as usize], word);
        self.here[r as usize] = Here {
            word: true,
            float: false,
            test: None,
        };
    }

    fn set_float(&mut self, r: Register, float: Value) {
        self.b.def_var(self.floats[r as usize], float);
        self.here[r as usize] = Here {
            word: false,
            float: true,
            test: None,
        };
    }

    fn set_test(&mut self, r: Register, test: Value) {
        self.here[r as usize] = Here {
            word: false,
            float: false,
            test: Some(test),
        };
    }

    /// The word of an operand.
    fn word(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Register(r) => self.word_of(r),
            Operand::Constant(_) => {
                let value = self.constant_of(operand);
                self.literal(value)
            }
        }
    }

    /// The word of a register; written if it was not.
    fn word_of(&mut self, r: Register) -> Value {
        let here = self.here[r as usize];
        let variable = self.words[r as usize];
        if here.word {
            return self.b.use_var(variable);
        }
        let word = if let Some(test) = here.test {
            self.truth(test)
        } else {
            let float = self.b.use_var(self.floats[r as usize]);
            self.encode(float)
        };
        self.b.def_var(variable, word);
        self.here[r as usize].word = true;
        word
    }

    fn constant_of(&self, operand: Operand) -> Word {
        match operand {
            Operand::Constant(k) => self.subject.constants[k as usize],
            Operand::Register(_) => Word::NONE,
        }
    }

    fn literal(&mut self, value: Word) -> Value {
        self.b.ins().iconst(I64, value.word() as i64)
    }

    fn is_word(&mut self, word: Value, value: Word) -> Value {
        self.b
            .ins()
            .icmp_imm_s(IntCC::Equal, word, value.word() as i64)
    }

    /// `true` or `false` as a word.
    fn truth(&mut self, test: Value) -> Value {
        let yes = self.literal(Word::TRUE);
        let no = self.literal(Word::FALSE);
        self.b.ins().select(test, yes, no)
    }

    /// Whether an operand is `true`.
    fn is_true(&mut self, operand: Operand) -> Value {
        if let Operand::Register(r) = operand {
            if let Some(test) = self.here[r as usize].test {
                return test;
            }
        }
        let word = self.word(operand);
        self.is_word(word, Word::TRUE)
    }

    fn kinds(&self, operand: Operand) -> Kinds {
        match (self.mode, operand) {
            (Mode::Slow, Operand::Register(_)) => Kinds::ANY,
            _ => self.state.kinds(operand, self.subject.constants),
        }
    }
}

fn is_test(p: Primitive) -> bool {
    (Primitive::Eq..=Primitive::Ge).contains(&p) || Kinds::tested(p).is_some()
}
