//! What is compiled: a unit as this crate sees it.
use super::dataflow::Dataflow;
use super::host;
use super::link::Reference;
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
    /// The code in the slot of that function among those that the unit uses.
    Slot(usize),
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
    /// Bytes of its encoded form.
    pub(super) bytes: &'a [u8],
    functions: &'a [*const FunctionSlot],
    behaviours: &'a [*const BehaviourSlot],
    /// True for each behaviour that it uses and that is loaded: these stay so.
    pub(super) loaded: Vec<bool>,
    /// The calling convention of Rust.
    pub(super) host: CallConv,
    pub(super) stubs: &'static Stubs,
}

impl<'a> ResolvedUnit<'a> {
    /// `None` where no native code can be made.
    pub(super) fn new(unit: &compiler::InstalledUnit<'a>) -> Option<ResolvedUnit<'a>> {
        // SAFETY: slots live as long as the program, which whoever compiles for it holds.
        let is_loaded = |slot: &*const BehaviourSlot| unsafe { &**slot }.id().is_some();
        Some(ResolvedUnit {
            verified: unit.verified,
            constants: unit.constants,
            bytes: unit.bytes,
            functions: unit.functions,
            behaviours: unit.behaviours,
            loaded: unit.behaviours.iter().map(is_loaded).collect(),
            host: host::isa()?.default_call_conv(),
            stubs: Stubs::get()?,
        })
    }

    /// The word of what its code refers to, in its machine.
    pub(super) fn word(&self, reference: Reference) -> u64 {
        match reference {
            Reference::Function(index) => self.functions[index].expose_provenance() as u64,
            Reference::Behaviour(index) => self.behaviours[index].expose_provenance() as u64,
            Reference::Constant(index) => self.constants[index].word(),
            Reference::Piece(_) => unreachable!("pieces are called, and linked by their distance"),
        }
    }

    pub(super) fn callee(&self, import: u32) -> Callee {
        match self.verified.own_function(import) {
            Some(index) => Callee::Own(index),
            None => Callee::Slot(import as usize),
        }
    }
}

/// A function of the unit, and what is known of its registers; nothing if it is too large.
pub(super) type AnalysedCode<'a> = Option<(Subject<'a>, Dataflow)>;
