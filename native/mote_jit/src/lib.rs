//! Verified units become machine code, with Cranelift as the assembler: the compiler that a machine is given.
//!
//! What a machine and its compiler agree on, and the invariants of native code, are in [`mote_vm::native`]. This crate
//! runs no actor and keeps nothing of a machine: it answers with code, and the machine does the rest. So the
//! machine is built and tested without it, and without Cranelift.
//!
//! # From a unit to its code
//!
//! The modules below are listed from the bottom to the top: each uses those before it and none of those after it
//! (`mote_vm/tests/layers.rs` checks this). A unit is analysed as a whole first: what its functions usually return and are passed
//! (unit_facts.rs), by following the kinds of values (kinds.rs, range.rs) through each of its functions and behaviours
//! (dataflow.rs, transfer.rs). Then each function and behaviour becomes a function of Cranelift's (body/), with the loops that it
//! counts unrolled (counted_loops.rs, loop_nest.rs, intervals.rs, linear.rs). At last the compiled pieces are linked to an image
//! (link.rs); compile.rs has all of these steps in order. The image is kept (images.rs), and placed for each machine that loads
//! the unit.
//!
//! Invariants:
//! 1. No compiled code has a larger frame than the machine has stack for ([`mote_vm::native::LARGEST_FRAME`]), and takes the
//!    compiler a bounded time (subject.rs). Larger code is refused, and left to the interpreter.

mod host;

mod link;

mod stubs;

mod range;

mod kinds;

mod facts;

mod plan;

mod subject;

mod loop_carried;

mod transfer;

mod dataflow;

mod unit_facts;

mod remarks;

mod linear;

mod path;

mod counted_loops;

mod intervals;

mod early_answer;

mod unit;

mod loop_nest;

mod body;

mod compile;

mod images;

use mote_vm::native::compiler::{Compiled, Compiler, InstalledUnit};

pub use remarks::{remarks, Remark, Topic, What};

/// The compiler for this computer; `None` where no native code can be made, and a machine interprets everything.
pub fn compiler() -> Option<&'static dyn Compiler> {
    host::isa().map(|_| &Cranelift as &dyn Compiler)
}

struct Cranelift;

// SAFETY: body/ does what the instructions of the unit say, as `Compiler` asks, and differential tests hold it to that
// (tests/native/).
unsafe impl Compiler for Cranelift {
    fn compile(&self, unit: &InstalledUnit<'_>) -> Option<Compiled> {
        images::compiled(&unit::ResolvedUnit::new(unit)?)
    }

    fn at_hand(&self, unit: &InstalledUnit<'_>) -> Option<Compiled> {
        images::at_hand(&unit::ResolvedUnit::new(unit)?)
    }
}
