//! The machines of this crate's tests and benches run native code, unless they are asked not to.
#![allow(dead_code)] // Not everybody asks.
use mote_vm::machine::Tier;
use mote_vm::native::compiler::Compiler;

/// Returns the compiler for a machine under test.
pub fn compiler() -> Option<&'static dyn Compiler> {
    mote_jit::compiler()
}

/// Returns the compiler that puts a machine on that tier.
pub fn of(tier: Tier) -> Option<&'static dyn Compiler> {
    match tier {
        Tier::Native => compiler(),
        Tier::Interpreter => None,
    }
}
