//! What makes native code: a trait, so that this crate neither knows nor links a code generator. `mote_jit` has one.
//!
//! A compiler takes a verified unit and answers with code that is placed already ([`super::CodeMemory`]). When a unit is compiled,
//! by which thread, and who runs the code afterwards is decided here (tier.rs).
pub use crate::code::job::Compiled;
use crate::code::slots::{BehaviourSlot, FunctionSlot};
use crate::code::verify::Verified;
use crate::values::value::Value;

/// Makes native code of units.
///
/// # Safety
/// Dispatch threads run what it answers. So each function in it follows the conventions of the head of native/mod.rs, does
/// to turn, heap and queue nothing but what the instructions of the unit say, and reads [`super::layout`] for where they are.
pub unsafe trait Compiler: Sync {
    /// The native code of a unit; `None` where it cannot be made, and the interpreter runs all of the unit.
    fn compile(&self, unit: &InstalledUnit<'_>) -> Option<Compiled>;

    /// Returns the same, without compiling: `None` if it was not compiled before.
    fn at_hand(&self, unit: &InstalledUnit<'_>) -> Option<Compiled>;
}

/// A unit, and what its indices refer to. The slots live as long as the program that the code belongs to.
pub struct InstalledUnit<'a> {
    /// Its encoded form.
    pub bytes: &'a [u8],
    /// Its instructions, verified.
    pub verified: &'a Verified,
    /// The values of its constants.
    pub constants: &'a [Value],
    /// Slots of the functions that it uses.
    pub functions: &'a [*const FunctionSlot],
    /// Slots of the behaviours that it uses.
    pub behaviours: &'a [*const BehaviourSlot],
}
