//! A verified unit becomes native code: each function and behaviour is built, compiled and placed.
//!
//! What cannot be compiled (its frame or itself is too large) is not an error: a function then stops the native code
//! that calls it, whose turns are the interpreter's from then on, and a behaviour stays the interpreter's.
use super::body::{Body, Role};
use super::code_memory::{CodeMemory, Piece};
use super::flow::{Flow, Subject};
use super::kinds::Kinds;
use super::stubs::Stubs;
use super::{host, layout, LARGEST_FRAME};
use crate::code::ir::{Instr, Label};
use crate::code::program::{BehaviourSlot, FunctionSlot};
use crate::code::verify::Verified;
use crate::turn::Stop;
use crate::value::Value;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{Function, InstBuilder, MemFlagsData, UserFuncName};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_codegen::Context;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

/// Instructions times registers of the largest code that is compiled: what is known is kept for each register at each
/// label.
const LARGEST_CODE: usize = 1 << 22;
/// Bytes of the largest frame of a behaviour, of which there is one.
const LARGEST_BEHAVIOUR_FRAME: usize = 1 << 20;

/// Bytes of the largest frame of the form of a function that answers words for it, which stands below the function's
/// own; with as many parameters it has room.
const BOXING_FRAME: usize = LARGEST_FRAME / 4;
const BOXING_ARITY: u32 = 16;

/// Who is called.
#[derive(Clone, Copy)]
pub(super) enum Callee {
    /// A function of the unit, by index.
    Own(usize),
    /// Whatever stands in the slot.
    Slot(*const FunctionSlot),
}

impl Callee {
    pub(super) fn own(self) -> Option<usize> {
        match self {
            Callee::Own(index) => Some(index),
            Callee::Slot(_) => None,
        }
    }
}

/// A unit, and what its indices refer to.
pub(crate) struct Unit<'a> {
    pub(crate) verified: &'a Verified,
    pub(crate) constants: &'a [Value],
    pub(crate) functions: &'a [*const FunctionSlot],
    pub(crate) behaviours: &'a [*const BehaviourSlot],
    /// How Rust is called.
    pub(super) host: CallConv,
    pub(super) stubs: &'static Stubs,
}

impl<'a> Unit<'a> {
    /// `None` where no native code can be made.
    pub(crate) fn new(
        verified: &'a Verified,
        constants: &'a [Value],
        functions: &'a [*const FunctionSlot],
        behaviours: &'a [*const BehaviourSlot],
    ) -> Option<Unit<'a>> {
        Some(Unit {
            verified,
            constants,
            functions,
            behaviours,
            host: host::isa()?.default_call_conv(),
            stubs: Stubs::get()?,
        })
    }

    pub(super) fn callee(&self, import: u32) -> Callee {
        match self.verified.own_function(import) {
            Some(index) => Callee::Own(index),
            None => Callee::Slot(self.functions[import as usize]),
        }
    }
}

/// The native code of a unit.
pub(crate) struct Compiled {
    pub(crate) memory: CodeMemory,
    /// Where each function starts.
    pub(crate) functions: Vec<*const u8>,
    /// Where each behaviour starts, if it was compiled.
    pub(crate) behaviours: Vec<Option<*const u8>>,
    /// How many functions and behaviours were not compiled.
    pub(crate) refused: usize,
}

/// Compiles a unit; `None` where the host is not supported or has no memory.
pub(crate) fn compile(unit: &Unit<'_>) -> Option<Compiled> {
    let mut compiler = Compiler {
        unit,
        isa: &**host::isa()?,
        context: Context::new(),
        builder: FunctionBuilderContext::new(),
        returns: vec![Kinds::FIXNUM; unit.verified.functions.len()],
        passed: (unit.verified.functions.iter())
            .map(|f| vec![Kinds::NONE; f.arity as usize])
            .collect(),
        boxing: vec![None; unit.verified.functions.len()],
        refused: 0,
    };
    compiler.learn();
    compiler.find_unboxed();
    let verified = unit.verified;
    let mut pieces = Vec::new();
    for (index, function) in verified.functions.iter().enumerate() {
        let role = compiler.role_of(index);
        let arity = function.arity as u16;
        let piece = compiler.piece(&function.code, function.registers, arity, role);
        pieces.push(match piece {
            Some(piece) => piece,
            None => compiler.unavailable(arity, role)?,
        });
    }
    for index in 0..verified.functions.len() {
        if compiler.boxing[index].is_some() {
            pieces.push(compiler.boxing_form(index)?);
        }
    }
    let mut behaviours = Vec::new();
    for behaviour in &verified.behaviours {
        let captures = behaviour.captures as u16;
        let role = Role::Behaviour { captures };
        let inputs = captures + 1;
        let piece = compiler.piece(&behaviour.code, behaviour.registers, inputs, role);
        behaviours.push(piece.map(|piece| {
            pieces.push(piece);
            pieces.len() - 1
        }));
    }
    let memory = CodeMemory::new(&pieces)?;
    let start = |at: usize| memory.start(at);
    Some(Compiled {
        functions: (0..verified.functions.len())
            .map(|index| start(compiler.boxing[index].unwrap_or(index)))
            .collect(),
        behaviours: behaviours.into_iter().map(|at| at.map(start)).collect(),
        refused: compiler.refused,
        memory,
    })
}

struct Compiler<'a> {
    unit: &'a Unit<'a>,
    isa: &'a dyn TargetIsa,
    context: Context,
    builder: FunctionBuilderContext,
    /// What the unit's functions usually answer: integers, until it is found out.
    returns: Vec<Kinds>,
    /// What its functions usually pass to each other, by parameter. Behaviours are left out: those that call a function
    /// for the outside pass whatever comes.
    passed: Vec<Vec<Kinds>>,
    /// For each function that answers floats as they are: the piece that answers words, for whoever does not know that.
    boxing: Vec<Option<usize>>,
    refused: usize,
}

/// How often it is looked again what functions answer and are passed, given what was found out of the others.
const ROUNDS: usize = 3;

impl Compiler<'_> {
    /// Finds out what functions usually answer, and are passed. Nothing rests on it but speed: it is tested.
    fn learn(&mut self) {
        let verified = self.unit.verified;
        let call = |i: &Instr| matches!(i, Instr::Call { .. });
        let functions = verified.functions.iter().map(|f| &f.code);
        let mut codes = functions.chain(verified.behaviours.iter().map(|b| &b.code));
        if !codes.any(|code| code.iter().any(call)) {
            return;
        }
        for _ in 0..ROUNDS {
            let mut passed: Vec<Vec<Kinds>> = (self.passed.iter())
                .map(|kinds| vec![Kinds::NONE; kinds.len()])
                .collect();
            for (index, function) in verified.functions.iter().enumerate() {
                let role = self.role_of(index);
                let (registers, arity) = (function.registers, function.arity as u16);
                let look = |subject: &Subject<'_>| Flow::of(subject);
                let flow = self.looked_at(&function.code, registers, arity, role, look);
                let answers = flow.as_ref().map(|flow| flow.answers);
                self.returns[index] = answers.unwrap_or(Kinds::ANY);
                for (import, kinds) in flow.map_or(Vec::new(), |flow| flow.calls) {
                    let Some(own) = verified.own_function(import) else {
                        continue;
                    };
                    for (known, kinds) in passed[own].iter_mut().zip(kinds) {
                        *known = known.or(kinds);
                    }
                }
            }
            self.passed = passed;
        }
    }

    /// Finds the functions that answer floats as they are: they usually answer floats, and what they call last does so,
    /// too.
    fn find_unboxed(&mut self) {
        let verified = self.unit.verified;
        let count = verified.functions.len();
        let mut unboxed: Vec<bool> = (verified.functions.iter().zip(&self.returns))
            .map(|(f, returns)| *returns == Kinds::FLOAT && f.arity <= BOXING_ARITY)
            .collect();
        let mut found = usize::MAX;
        while found != unboxed.iter().filter(|u| **u).count() {
            found = unboxed.iter().filter(|u| **u).count();
            for (index, function) in verified.functions.iter().enumerate() {
                let last = function.code.iter().all(|instr| match instr {
                    Instr::TailCall { function, .. } => verified
                        .own_function(*function)
                        .is_some_and(|own| unboxed[own]),
                    _ => true,
                });
                unboxed[index] &= last;
            }
        }
        let found = (0..count).filter(|index| unboxed[*index]);
        for (i, index) in found.enumerate() {
            self.boxing[index] = Some(count + i);
        }
    }

    fn role_of(&self, index: usize) -> Role {
        let unboxed = self.boxing[index].is_some();
        Role::Function { index, unboxed }
    }

    /// Shows a code with what is known of what it refers to; nothing if it is too large.
    fn looked_at<R>(
        &self,
        code: &[Instr],
        registers: u16,
        inputs: u16,
        role: Role,
        look: impl FnOnce(&Subject<'_>) -> R,
    ) -> Option<R> {
        if code.len() * registers as usize > LARGEST_CODE || code.len() > Label::MAX as usize {
            return None;
        }
        let own = |import: u32| self.unit.verified.own_function(import);
        let is_self = |import: u32| match role {
            Role::Function { index, .. } => own(import) == Some(index),
            Role::Behaviour { .. } => false,
        };
        let returns = |import: u32| own(import).map_or(Kinds::ANY, |index| self.returns[index]);
        Some(look(&Subject {
            code,
            constants: self.unit.constants,
            registers,
            inputs,
            is_self: &is_self,
            returns: &returns,
            is_function: matches!(role, Role::Function { .. }),
            passed: match role {
                Role::Function { index, .. } => &self.passed[index],
                Role::Behaviour { .. } => &[],
            },
            boxing: &self.boxing,
        }))
    }

    /// The machine code of one code; `None` (and counted) if it is refused.
    fn piece(&mut self, code: &[Instr], registers: u16, inputs: u16, role: Role) -> Option<Piece> {
        let piece = self.built(code, registers, inputs, role);
        self.refused += piece.is_none() as usize;
        piece
    }

    fn built(&mut self, code: &[Instr], registers: u16, inputs: u16, role: Role) -> Option<Piece> {
        let mut context = std::mem::replace(&mut self.context, Context::new());
        let mut builder = std::mem::take(&mut self.builder);
        context.clear();
        let signature = role.signature(inputs, self.unit.host);
        context.func = Function::with_name_signature(UserFuncName::default(), signature);
        let config = self.isa.frontend_config();
        let built = self.looked_at(code, registers, inputs, role, |subject| {
            let flow = Flow::of(subject);
            let builder = FunctionBuilder::new(&mut context.func, &mut builder);
            Body::build(builder, self.unit, subject, &flow, role, config);
        });
        (self.context, self.builder) = (context, builder);
        built?;
        let largest = match role {
            Role::Function { unboxed: true, .. } => LARGEST_FRAME - BOXING_FRAME,
            Role::Function { .. } => LARGEST_FRAME,
            Role::Behaviour { .. } => LARGEST_BEHAVIOUR_FRAME,
        };
        self.finish(largest)
    }

    /// The form of a function that answers words, where it answers floats as they are otherwise.
    fn boxing_form(&mut self, index: usize) -> Option<Piece> {
        let function = &self.unit.verified.functions[index];
        let arity = function.arity as u16;
        let mut context = std::mem::replace(&mut self.context, Context::new());
        let mut builder = std::mem::take(&mut self.builder);
        context.clear();
        let role = Role::Function {
            index,
            unboxed: false,
        };
        let signature = role.signature(arity, self.unit.host);
        context.func = Function::with_name_signature(UserFuncName::default(), signature);
        let config = self.isa.frontend_config();
        self.looked_at(&[], arity, arity, role, |subject| {
            let flow = Flow::of(subject);
            let builder = FunctionBuilder::new(&mut context.func, &mut builder);
            Body::build_boxing(builder, self.unit, subject, &flow, index, config);
        });
        (self.context, self.builder) = (context, builder);
        self.finish(BOXING_FRAME)
    }

    /// What stands in for a function that was refused: it leaves the turn to the interpreter, for ever.
    fn unavailable(&mut self, arity: u16, role: Role) -> Option<Piece> {
        self.context.clear();
        let signature = role.signature(arity, self.unit.host);
        self.context.func = Function::with_name_signature(UserFuncName::default(), signature);
        let mut b = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let (turn, budget) = (b.block_params(entry)[0], b.block_params(entry)[1]);
        let never = b.ins().iconst(I32, Stop::Never as i64);
        b.ins()
            .store(MemFlagsData::trusted(), never, turn, layout::HALT_STOP);
        let mut answer = vec![b.ins().iconst(I64, 0), budget];
        if let Role::Function { unboxed: true, .. } = role {
            answer.push(b.ins().f64const(0.0));
        }
        b.ins().return_(&answer);
        b.finalize(self.isa.frontend_config());
        self.finish(LARGEST_FRAME)
    }

    fn finish(&mut self, largest_frame: usize) -> Option<Piece> {
        let plane = &mut ControlPlane::default();
        if let Err(error) = self.context.compile(self.isa, plane) {
            debug_assert!(false, "{:?}", error.inner);
            return None;
        }
        let compiled = self.context.compiled_code()?;
        let frame = compiled.buffer.frame_layout()?.frame_to_fp_offset as usize;
        // Arguments beyond the registers stand above the frame.
        let arguments = 8 * self.context.func.signature.params.len();
        if frame + arguments > largest_frame {
            return None;
        }
        Piece::of(compiled, &self.context.func)
    }
}
