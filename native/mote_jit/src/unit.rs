//! What is compiled: a unit as this crate sees it.
use super::dataflow::Dataflow;
use super::host;
use super::stubs::Stubs;
use super::subject::Subject;
use cranelift_codegen::isa::CallConv;
use mote_vm::code::verify::Verified;
use mote_vm::native::{compiler, BehaviourSlot, FunctionSlot};
use mote_vm::values::value::Value;

/// The function that is called.
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
pub(super) struct ResolvedUnit<'a> {
    pub(super) verified: &'a Verified,
    pub(super) constants: &'a [Value],
    pub(super) functions: &'a [*const FunctionSlot],
    pub(super) behaviours: &'a [*const BehaviourSlot],
    /// How Rust is called.
    pub(super) host: CallConv,
    pub(super) stubs: &'static Stubs,
}

impl<'a> ResolvedUnit<'a> {
    /// `None` where no native code can be made.
    pub(super) fn new(unit: &compiler::InstalledUnit<'a>) -> Option<ResolvedUnit<'a>> {
        Some(ResolvedUnit {
            verified: unit.verified,
            constants: unit.constants,
            functions: unit.functions,
            behaviours: unit.behaviours,
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

/// A function of the unit, and what is known of its registers; nothing if it is too large.
pub(super) type AnalysedCode<'a> = Option<(Subject<'a>, Dataflow)>;
