//! From the instructions of one code to Cranelift's.
//!
//! Each code is compiled twice into one native function. The **fast body** assumes the usual case: integers that fit,
//! floats of common exponents, lists where lists are taken apart. Where an assumption fails it leaves for the same
//! instruction of the **slow body**, which assumes nothing and asks helpers. So the fast body carries types and unboxed
//! floats along without ever meeting the unusual case, and the slow one is small.
//!
//! Registers are variables of Cranelift's SSA construction, one for the value's word and one for the machine float.
//! [`Here`] says which of them hold at the current point; edges convert to what their target expects.
//!
//! This file has the walk over the instructions. Edges are in edges.rs, moves in words.rs, the operations in the other
//! files of this folder.
mod activation;
mod atom_keys;
mod binaries;
mod budget;
mod calls;
mod edges;
mod effects;
mod floats;
mod helper_calls;
mod inline;
mod lanes;
mod numbers;
mod parts;
mod pending;
mod positions;
mod proofs;
mod put_elem;
mod quotients;
mod shapes;
mod truth;
mod unroll;
mod values;
mod words;

use super::dataflow::Dataflow;
use super::kinds::Kinds;
use super::plan::Plan;
use super::subject::{behind_calls, Subject};
use super::unit::{AnalysedCode, ResolvedUnit};
use activation::{Activation, Here};
use cranelift_codegen::ir::types::{F64, I32, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, InstBuilder, MemFlagsData, SigRef, Signature, Type, Value,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, Variable};
use helper_calls::Frequency;
pub(super) use inline::Calls;
use inline::Inlining;
use mote_vm::code::ir::{Instr, Label, Operand, Register};
use mote_vm::native::{entry, helpers, layout, Stop};
use mote_vm::terms::prim::primitive::Primitive;
use mote_vm::values::value::Value as Word;
use pending::Pending;
use positions::Positions;
use unroll::Unrolling;

/// The role of the code that is compiled.
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

/// A destination of control.
#[derive(Clone, Copy)]
enum Destination {
    Fast(Label),
    Slow(Label),
    Stopped,
}

pub(super) struct Body<'a, 'b> {
    b: FunctionBuilder<'b>,
    unit: &'a ResolvedUnit<'a>,
    functions: &'a [AnalysedCode<'a>],
    role: Role,
    /// True if the behaviour calls anything, and so spends fuel.
    spends: bool,
    /// True for each instruction of a behaviour before which a call may have been made.
    behind_calls: Vec<bool>,
    mode: Mode,
    active: Activation<'a>,
    inlining: Inlining<'a>,
    unrolling: Unrolling,
    pending: Option<Pending>,
    turn: Value,
    budget: Variable,
    positions: Positions,
    /// The numbers of behaviours' versions that were looked up since the last label.
    current: Vec<(u32, Value)>,
    /// The instruction that proves finite what those before it have left (proofs.rs).
    proof: Option<Label>,
    /// Registers that have been written since `resume` and are read there, as they were at that point: forms, word, float.
    before: Vec<(Register, Here, Option<Value>, Option<Value>)>,
    stopped: Block,
    /// The block where a loop begins again with tests of what the fast body takes for granted.
    tested_header: Option<Block>,
    signatures: Vec<(Vec<Type>, Type, SigRef)>,
    last_tagged: Option<Tagged>,
}

/// The integer that was made a word last. Code that goes on with it need not take the tag away, and wait for that.
#[derive(Clone, Copy)]
struct Tagged {
    word: Value,
    /// Twice the integer.
    even: Value,
    n: Value,
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
    /// Compiles the code into the function of the builder. Returns whether calls are in line there.
    pub(super) fn build(
        b: FunctionBuilder<'b>,
        unit: &'a ResolvedUnit<'a>,
        functions: &'a [AnalysedCode<'a>],
        (subject, flow, role): (&'a Subject<'a>, &'a Dataflow, Role),
        calls: Calls,
        config: TargetFrontendConfig,
    ) -> bool {
        let (mut body, params) = Body::new(b, unit, functions, subject, flow, role);
        body.inlining.calls = calls;
        body.enter(&params);
        body.walk();
        body.mode = Mode::Slow;
        body.finish_inlined();
        body.begin_resumed();
        body.walk();
        let in_line = body.inlining.size > 0 || body.unrolling.lanes_header.is_some();
        body.finish(config);
        in_line
    }

    /// The form of a function that answers words: calls the other one.
    pub(super) fn build_boxing(
        b: FunctionBuilder<'b>,
        unit: &'a ResolvedUnit<'a>,
        functions: &'a [AnalysedCode<'a>],
        subject: &'a Subject<'a>,
        flow: &'a Dataflow,
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
        unit: &'a ResolvedUnit<'a>,
        functions: &'a [AnalysedCode<'a>],
        subject: &'a Subject<'a>,
        flow: &'a Dataflow,
        role: Role,
    ) -> (Self, Vec<Value>) {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let stopped = b.create_block();
        b.set_cold_block(stopped);
        let params = b.block_params(entry).to_vec();
        let spends =
            matches!(role, Role::Behaviour { .. }) && subject.code.iter().any(Instr::is_call);
        let body = Body {
            unit,
            functions,
            role,
            spends,
            behind_calls: if spends {
                behind_calls(subject.code)
            } else {
                Vec::new()
            },
            mode: Mode::Fast,
            active: Activation::new(&mut b, subject, flow, None),
            inlining: Inlining::new(),
            unrolling: Unrolling::new(&mut b),
            pending: Pending::of(&mut b, subject, flow, role),
            turn: params[0],
            budget: b.declare_var(I64),
            positions: Positions::new(&mut b),
            current: Vec::new(),
            proof: None,
            before: Vec::new(),
            stopped,
            tested_header: None,
            signatures: Vec::new(),
            last_tagged: None,
            b,
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
        if !self.active.flow.loops
            && self.pending.is_none()
            && self
                .active
                .flow
                .inputs
                .iter()
                .all(|kinds| *kinds == Kinds::ANY)
        {
            return;
        }
        let header = self.b.create_block();
        self.b.ins().jump(header, &[]);
        self.b.switch_to_block(header);
        self.tested_header = Some(header);
        self.test_inputs();
        self.begin_rounds();
    }

    /// Tests what the fast body takes for granted, of words.
    fn test_inputs(&mut self) {
        for (i, kinds) in self.active.flow.inputs.iter().enumerate() {
            let word = self.b.use_var(self.active.words[i]);
            if *kinds == Kinds::FIXNUM {
                let is = self.is_fixnum(word);
                self.leave_unless(is, Destination::Slow(0));
                if self.active.flow.counters[i] {
                    self.has_room(word);
                }
            } else if *kinds == Kinds::FLOAT {
                let is = self.is_flonum(word);
                self.leave_unless(is, Destination::Slow(0));
                let float = self.decode(word);
                self.b.def_var(self.active.floats[i], float);
            } else if *kinds == Kinds::NUMBER {
                let is = self.is_number(word);
                self.leave_unless(is, Destination::Slow(0));
            }
        }
    }

    /// Leads from the tests to the fast body, by groups if it is a loop that counts.
    fn begin_rounds(&mut self) {
        let fast_header = self.b.create_block();
        self.groups(fast_header);
        self.b.switch_to_block(fast_header);
        self.active.fast_header = Some(fast_header);
        self.begin_plain_round();
        self.start_of_round();
    }

    /// Compiles all instructions that can be reached in this mode.
    fn walk(&mut self) {
        let subject = self.active.subject;
        let mut reached = self.mode == Mode::Fast;
        let mut branched = false;
        for (i, instruction) in subject.code.iter().enumerate() {
            let label = i as Label;
            let block = match self.mode {
                // Also where the jumps that dataflow.rs has met were left out: what is known here is what it knows.
                Mode::Fast if reached && self.active.flow.labels[i].is_some() => {
                    Some(self.block_of(Destination::Fast(label)))
                }
                Mode::Fast => self.active.fast[i],
                Mode::Slow => self.active.slow[i],
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
            self.active.at = label;
            if self.proof < Some(label) {
                self.active.resume = label;
                self.before.clear();
                self.proof = None;
            }
            if std::mem::take(&mut branched) {
                self.active.state.transfer(instruction, subject);
                continue;
            }
            branched =
                self.compare_and_branch(i) || self.call_and_branch(i) || self.answer_and_drop(i);
            if !branched {
                self.instruction(instruction);
            }
            reached = instruction.falls_through();
            if reached && self.mode == Mode::Fast {
                self.active.state.transfer(instruction, subject);
            }
        }
    }

    /// Goes on in a block that was jumped to.
    fn arrive(&mut self, label: Label, block: Block) {
        self.b.switch_to_block(block);
        // Jumps go forward, and the fast body is complete before the slow one: all that lead here are there.
        if !self.resumes_at(label) {
            self.b.seal_block(block);
        }
        self.positions.forget();
        self.current.clear();
        if self.mode == Mode::Fast {
            let known = self.active.flow.labels[label as usize].clone();
            self.active.state = known.expect("what is jumped to was met before");
        }
        for r in 0..self.active.here.len() {
            let float = self.mode == Mode::Fast && self.active.state.known(r as Register).unboxed;
            self.active.here[r] = Here {
                word: !float,
                float,
                test: None,
            };
        }
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
            Instr::Falsy { value, label } if self.kinds(*value).is(Kinds::BOOLEAN) => {
                let holds = self.is_true(*value);
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
                // A trace shows what the turn would have created.
                self.write_down();
                self.halt(Stop::Aborted, Some(reason));
                self.go(Destination::Stopped);
            }
            Instr::Done => self.end(entry::DONE),
            Instr::Ignore => self.end(entry::IGNORED),
            Instr::Match { left, right, label } => {
                if self.mode == Mode::Fast && self.is_empty_binary(*right) {
                    let word = self.word(*left);
                    self.match_empty_binary(word, *label);
                } else if !self.match_list(*left, *right, *label) {
                    self.matching(*left, *right, *label);
                }
            }
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
            Instr::Fun {
                dst,
                function,
                captures,
            } => self.fun(*dst, *function, captures),
            Instr::CallFun {
                dst,
                function,
                args,
                ..
            } => self.call_fun(*dst, *function, args),
            Instr::TailCallFun { function, args, .. } => self.tail_call_fun(*function, args),
            Instr::Try { failed } => self.protect(*failed),
            Instr::Tried => self.count_protected(-1),
            Instr::Return { value } => self.give_back(*value),
            effect => self.effect(effect),
        }
    }

    fn primitive(&mut self, d: Register, p: Primitive, args: &[Operand], label: Option<Label>) {
        let plan = match self.mode {
            Mode::Fast => self
                .active
                .state
                .plan(p, args, self.active.subject.constants),
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
                if self.proof > Some(self.active.at) {
                    self.keep(d);
                }
                self.set_float(d, float);
            }
            Plan::Whole => {
                let word = self.whole(p, args[0]);
                self.set_word(d, word);
            }
            Plan::Draw => {
                let float = self.call_foreign(helpers::DRAW, &[self.turn], F64);
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
            Plan::Read => self.read(d, p, args, label),
            Plan::AtomKey => self.has_atom_key(d, args, label),
            Plan::Helper => {
                let frequency = match self.mode {
                    Mode::Fast => Frequency::Often,
                    Mode::Slow => Frequency::Seldom,
                };
                let answer = self.helper_call(p, args, label, frequency);
                self.set_word(d, answer);
            }
        }
    }
}

fn is_test(p: Primitive) -> bool {
    (Primitive::Eq..=Primitive::Ge).contains(&p) || Kinds::tested(p).is_some()
}
