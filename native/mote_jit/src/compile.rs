//! A verified unit becomes native code: each function and behaviour is built and compiled, and all are linked to an image.
//!
//! Code that cannot be compiled, because it or its frame is too large, is not an error. A behaviour then stays with the
//! interpreter. A function that cannot be compiled stops the native code that calls it, and the interpreter runs the caller's
//! turns from then on.
use super::body::{Body, Calls, Role};
use super::dataflow::Dataflow;
use super::host;
use super::link::{link, Image, Piece};
use super::subject::{Subject, UnitFacts};
use super::unit::{AnalysedCode, ResolvedUnit};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{Function, InstBuilder, MemFlagsData, UserFuncName};
use cranelift_codegen::isa::{TargetFrontendConfig, TargetIsa};
use cranelift_codegen::Context;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use mote_vm::native::{compiler::Compiled, layout, Stop, LARGEST_BEHAVIOUR_FRAME, LARGEST_FRAME};

/// Bytes of the largest frame of the form of a function that answers words for it, which stands below the function's
/// own.
const BOXING_FRAME: usize = LARGEST_FRAME / 4;

/// The code of a unit, not yet placed.
pub(super) struct LinkedUnit {
    image: Image,
    /// The pieces of its functions and behaviours.
    functions: Vec<usize>,
    behaviours: Vec<Option<usize>>,
    refused: usize,
}

impl LinkedUnit {
    /// The code where a machine runs it; `None` when the system has no memory.
    pub(super) fn place(&self, unit: &ResolvedUnit<'_>) -> Option<Compiled> {
        let memory = self.image.place(|reference| unit.word(reference))?;
        let start = |at: usize| memory.start(at);
        Some(Compiled {
            functions: self.functions.iter().map(|at| start(*at)).collect(),
            behaviours: self.behaviours.iter().map(|at| at.map(start)).collect(),
            refused: self.refused,
            memory,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.image.bytes() + size_of_val(&*self.functions) + size_of_val(&*self.behaviours)
    }
}

/// Compiles a unit; `None` where the host is not supported.
pub(super) fn compile(unit: &ResolvedUnit<'_>) -> Option<LinkedUnit> {
    let verified = unit.verified;
    let facts = UnitFacts::of(verified, unit.constants);
    let functions: Vec<AnalysedCode<'_>> = (0..verified.functions.len())
        .map(|index| facts.function(index).map(analysed))
        .collect();
    let mut compiler = PieceCompiler {
        unit,
        functions: &functions,
        isa: &**host::isa()?,
        context: Context::new(),
        builder: FunctionBuilderContext::new(),
        refused: 0,
    };
    let mut pieces = Vec::new();
    for (index, looked) in functions.iter().enumerate() {
        let unboxed = facts.boxing[index].is_some();
        let role = Role::Function { index, unboxed };
        let piece = compiler.piece(looked, role);
        pieces.push(match piece {
            Some(piece) => piece,
            None => compiler.unavailable(verified.functions[index].arity as u16, role)?,
        });
    }
    for (index, boxing) in facts.boxing.iter().enumerate() {
        if boxing.is_some() {
            pieces.push(compiler.boxing_form(&facts.interface(index), index)?);
        }
    }
    let mut behaviours = Vec::new();
    for (index, behaviour) in verified.behaviours.iter().enumerate() {
        let captures = behaviour.captures as u16;
        let looked = facts.behaviour(index).map(analysed);
        let piece = compiler.piece(&looked, Role::Behaviour { captures });
        behaviours.push(piece.map(|piece| {
            pieces.push(piece);
            pieces.len() - 1
        }));
    }
    Some(LinkedUnit {
        image: link(&pieces)?,
        functions: (0..verified.functions.len())
            .map(|index| facts.boxing[index].unwrap_or(index))
            .collect(),
        behaviours,
        refused: compiler.refused,
    })
}

fn analysed(subject: Subject<'_>) -> (Subject<'_>, Dataflow) {
    let flow = Dataflow::of(&subject);
    (subject, flow)
}

struct PieceCompiler<'a> {
    unit: &'a ResolvedUnit<'a>,
    functions: &'a [AnalysedCode<'a>],
    isa: &'a dyn TargetIsa,
    context: Context,
    builder: FunctionBuilderContext,
    refused: usize,
}

impl<'a> PieceCompiler<'a> {
    /// The machine code of one code; `None` (and counted) if it is refused.
    fn piece(&mut self, looked: &AnalysedCode<'a>, role: Role) -> Option<Piece> {
        let piece = looked
            .as_ref()
            .and_then(|(subject, flow)| self.built(subject, flow, role));
        self.refused += piece.is_none() as usize;
        piece
    }

    fn built(&mut self, subject: &Subject<'a>, flow: &Dataflow, role: Role) -> Option<Piece> {
        let largest = match role {
            Role::Function { unboxed: true, .. } => LARGEST_FRAME - BOXING_FRAME,
            Role::Function { .. } => LARGEST_FRAME,
            Role::Behaviour { .. } => LARGEST_BEHAVIOUR_FRAME,
        };
        let mut build = |calls| {
            let in_line = self.build(role, subject.inputs, |builder, unit, functions, config| {
                let of = (subject, flow, role);
                Body::build(builder, unit, functions, of, calls, config)
            });
            (self.finish(largest), in_line)
        };
        match build(Calls::InLine) {
            // Without them its frame may be small enough.
            (None, true) => build(Calls::Made).0,
            (piece, _) => piece,
        }
    }

    /// The form of a function that answers words, where it answers floats as they are otherwise.
    fn boxing_form(&mut self, interface: &Subject<'a>, index: usize) -> Option<Piece> {
        let flow = Dataflow::of(interface);
        let role = Role::Function {
            index,
            unboxed: false,
        };
        self.build(
            role,
            interface.inputs,
            |builder, unit, functions, config| {
                Body::build_boxing(builder, unit, functions, interface, &flow, index, config);
            },
        );
        self.finish(BOXING_FRAME)
    }

    /// Builds a function in the context.
    fn build<T>(
        &mut self,
        role: Role,
        inputs: u16,
        build: impl FnOnce(
            FunctionBuilder<'_>,
            &'a ResolvedUnit<'a>,
            &'a [AnalysedCode<'a>],
            TargetFrontendConfig,
        ) -> T,
    ) -> T {
        self.context.clear();
        let signature = role.signature(inputs, self.unit.host);
        self.context.func = Function::with_name_signature(UserFuncName::default(), signature);
        let builder = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
        build(
            builder,
            self.unit,
            self.functions,
            self.isa.frontend_config(),
        )
    }

    /// Builds the stand-in for a function that was refused: it leaves the turn to the interpreter, for ever.
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
        let arguments = 8 * most_arguments(&self.context.func);
        if frame + arguments > largest_frame {
            return None;
        }
        Piece::of(compiled, &self.context.func)
    }
}

/// Returns the number of arguments that there is room for above the frame. The arguments of a function that is called last take the place
/// of its caller's. The caller keeps room for them from its beginning.
fn most_arguments(function: &Function) -> usize {
    let ends = function
        .layout
        .blocks()
        .filter_map(|block| function.layout.last_inst(block));
    let called_last = ends.filter_map(|end| function.dfg.call_signature(end));
    let params = called_last.map(|signature| function.dfg.signatures[signature].params.len());
    params.fold(function.signature.params.len(), usize::max)
}
