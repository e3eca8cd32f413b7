//! Stubs: how native code makes its rare calls of helpers. A stub preserves every register.
//!
//! For a plain call, the code around it would have to keep values that live across the call on the stack, or in registers
//! that it saves at its start, whether or not it ever reaches that call. A stub saves what the helper may change, and only when
//! it is called. Operands and answer are passed in the turn: such a call cannot return a value, and arguments would force their
//! sources into certain registers. The stubs are made once and live as long as the process.
use super::host;
use super::link::{link, Piece};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{
    AbiParam, Function, InstBuilder, MemFlagsData, Signature, UserFuncName,
};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::Context;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use mote_vm::native::{helpers, layout, CodeMemory};
use std::sync::OnceLock;

/// The helpers that have a stub.
#[derive(Clone, Copy)]
pub(super) enum Seldom {
    Allocate,
    AllocateActor,
    Send,
    Compared,
    Float,
    Refuel,
    Op,
    Guard,
}

/// Helpers, each with the number of operands that it takes after the turn, in the order of [`Seldom`].
const HELPERS: [(*const (), i32); 8] = [
    (helpers::ALLOCATE, 1),
    (helpers::ALLOCATE_ACTOR, 0),
    (helpers::SEND, 2),
    (helpers::COMPARED, 3),
    (helpers::FLOAT, 1),
    (helpers::REFUEL, 0),
    (helpers::OP, 4),
    (helpers::GUARD, 4),
];

/// Returns the offset of an operand in the turn.
pub(super) fn operand(i: i32) -> i32 {
    layout::ASKED + 8 * i
}

/// The stubs of one machine, in executable memory.
pub(super) struct Stubs {
    memory: CodeMemory,
}

// SAFETY: code that is never written again.
unsafe impl Sync for Stubs {}

impl Stubs {
    /// `None` where no native code can be made.
    pub(super) fn get() -> Option<&'static Stubs> {
        static STUBS: OnceLock<Option<Stubs>> = OnceLock::new();
        STUBS.get_or_init(make).as_ref()
    }

    /// Returns the start of a stub and its signature.
    pub(super) fn of(&self, helper: Seldom) -> (*const u8, Signature) {
        (self.memory.start(helper as usize), outer())
    }
}

/// Returns the signature of every stub: it is called with the turn.
fn outer() -> Signature {
    Signature {
        params: vec![AbiParam::new(I64)],
        returns: vec![],
        call_conv: CallConv::PreserveAll,
    }
}

fn make() -> Option<Stubs> {
    let isa = &**host::isa()?;
    let mut context = Context::new();
    let mut builder = FunctionBuilderContext::new();
    let pieces: Option<Vec<Piece>> = HELPERS
        .iter()
        .map(|(helper, operands)| {
            context.clear();
            context.func = Function::with_name_signature(UserFuncName::default(), outer());
            let mut b = FunctionBuilder::new(&mut context.func, &mut builder);
            let entry = b.create_block();
            b.append_block_params_for_function_params(entry);
            b.switch_to_block(entry);
            b.seal_block(entry);
            let turn = b.block_params(entry)[0];
            let flags = MemFlagsData::trusted();
            let mut args = vec![turn];
            for i in 0..*operands {
                args.push(b.ins().load(I64, flags, turn, operand(i)));
            }
            let inner = b.import_signature(Signature {
                params: vec![AbiParam::new(I64); args.len()],
                returns: vec![AbiParam::new(I64)],
                call_conv: isa.default_call_conv(),
            });
            let helper = b.ins().iconst(I64, *helper as i64);
            let call = b.ins().call_indirect(inner, helper, &args);
            let answer = b.inst_results(call)[0];
            b.ins().store(flags, answer, turn, layout::ANSWER);
            b.ins().return_(&[]);
            b.finalize(isa.frontend_config());
            context.compile(isa, &mut ControlPlane::default()).ok()?;
            Piece::of(context.compiled_code()?, &context.func)
        })
        .collect();
    Some(Stubs {
        memory: link(&pieces?)?.place(|_| unreachable!("stubs refer to nothing of a machine"))?,
    })
}
