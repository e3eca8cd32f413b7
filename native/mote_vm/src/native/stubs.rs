//! How native code calls helpers where it seldom does: through stubs that preserve every register.
//!
//! A plain call would make the code around it keep what lives across the call in registers that it has to save at its
//! start, or on the stack, whether it ever comes to that call or not. A stub saves what the helper may change, when it is
//! called; its answer is left in the turn, as such a call cannot return any. The stubs are made once and live as long as
//! the process.
use super::code_memory::{CodeMemory, Piece};
use super::{helpers, host, layout};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::types::{F64, I64};
use cranelift_codegen::ir::{
    AbiParam, Function, InstBuilder, MemFlagsData, Signature, Type, UserFuncName,
};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::Context;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use std::sync::OnceLock;

/// The helpers that have a stub.
#[derive(Clone, Copy)]
pub(super) enum Seldom {
    Allocate,
    Send,
    Compared,
    Float,
    Refuel,
    Op,
    Guard,
}

/// Each helper and what it takes, the turn first, in the order of [`Seldom`].
const HELPERS: [(*const (), &[Type]); 7] = [
    (helpers::allocate as *const (), &[I64; 2]),
    (helpers::send as *const (), &[I64; 3]),
    (helpers::compared as *const (), &[I64; 4]),
    (helpers::float as *const (), &[I64, F64]),
    (helpers::refuel as *const (), &[I64]),
    (helpers::op as *const (), &[I64; 5]),
    (helpers::guard as *const (), &[I64; 5]),
];

/// See the head of this file.
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

    /// Where the stub starts, and how it is called.
    pub(super) fn of(&self, helper: Seldom) -> (*const u8, Signature) {
        let (_, params) = HELPERS[helper as usize];
        (
            self.memory.start(helper as usize),
            signature(params, CallConv::PreserveAll, &[]),
        )
    }
}

fn signature(params: &[Type], call_conv: CallConv, returns: &[Type]) -> Signature {
    let params = params.iter().copied().map(AbiParam::new).collect();
    let returns = returns.iter().copied().map(AbiParam::new).collect();
    Signature {
        params,
        returns,
        call_conv,
    }
}

fn make() -> Option<Stubs> {
    let isa = &**host::isa()?;
    let mut context = Context::new();
    let mut builder = FunctionBuilderContext::new();
    let pieces: Option<Vec<Piece>> = HELPERS
        .iter()
        .map(|(helper, params)| {
            context.clear();
            let outer = signature(params, CallConv::PreserveAll, &[]);
            context.func = Function::with_name_signature(UserFuncName::default(), outer);
            let mut b = FunctionBuilder::new(&mut context.func, &mut builder);
            let entry = b.create_block();
            b.append_block_params_for_function_params(entry);
            b.switch_to_block(entry);
            b.seal_block(entry);
            let args = b.block_params(entry).to_vec();
            let inner = b.import_signature(signature(params, isa.default_call_conv(), &[I64]));
            let helper = b.ins().iconst(I64, *helper as i64);
            let call = b.ins().call_indirect(inner, helper, &args);
            let answer = b.inst_results(call)[0];
            let flags = MemFlagsData::trusted();
            b.ins().store(flags, answer, args[0], layout::ANSWER);
            b.ins().return_(&[]);
            b.finalize(isa.frontend_config());
            context.compile(isa, &mut ControlPlane::default()).ok()?;
            Piece::of(context.compiled_code()?, &context.func)
        })
        .collect();
    Some(Stubs {
        memory: CodeMemory::new(&pieces?)?,
    })
}
