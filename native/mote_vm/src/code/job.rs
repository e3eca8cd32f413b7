//! Compile jobs: what the program and the compiler hand to each other.
use super::memory::CodeMemory;
use super::slots::{BehaviourSlot, FunctionSlot};
use super::verify::Verified;
use crate::values::actor::BehaviourId;
use crate::values::value::Value;
use std::sync::Arc;

/// A unit to be compiled, with what the program installed for it.
pub(crate) struct Job {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) verified: Verified,
    /// These live as long as the program.
    pub(crate) constants: *const [Value],
    pub(crate) functions: Vec<*const FunctionSlot>,
    pub(crate) behaviours: Vec<*const BehaviourSlot>,
    /// The slots of the unit's own functions, and the numbers of its behaviours.
    pub(crate) own: Vec<*const FunctionSlot>,
    pub(crate) ids: Vec<BehaviourId>,
}

// SAFETY: the pointers refer to what is shared and lives as long as the program, which whoever works on the job holds.
unsafe impl Send for Job {}

/// The native code of a unit.
pub struct Compiled {
    /// Memory that the code lies in.
    pub memory: CodeMemory,
    /// Start of each function.
    pub functions: Vec<*const u8>,
    /// Start of each behaviour, if it was compiled.
    pub behaviours: Vec<Option<*const u8>>,
    /// Number of functions and behaviours that were not compiled.
    pub refused: usize,
}
