//! The machines of this crate's tests and benches run native code, unless they are asked not to.
#![allow(dead_code)] // Not everybody asks.
use mote_vm::machine::Tier;
use mote_vm::native::compiler::Compiler;

/// What a machine under test is given.
pub fn compiler() -> Option<&'static dyn Compiler> {
    mote_jit::compiler()
}

/// What makes a machine one of that tier.
pub fn of(tier: Tier) -> Option<&'static dyn Compiler> {
    match tier {
        Tier::Native => compiler(),
        Tier::Interpreter => None,
    }
}
