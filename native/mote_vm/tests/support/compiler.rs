//! The machines of this crate's tests interpret. Those of `mote_jit` run most of these tests once more, natively: there
//! another file stands in for this one.
use mote_vm::native::compiler::Compiler;

/// Returns the compiler for a machine under test.
pub fn compiler() -> Option<&'static dyn Compiler> {
    None
}
