//! Native code: what the machine and a compiler of its units agree on, and which tier runs what.
//!
//! A behaviour becomes one function that runs a whole turn, a function of the language one that is called. Both work
//! on the same [`Turn`](crate::turns::turn::Turn), heap and queue as the interpreter, and for everything that is not in line they
//! call the same functions (helpers.rs). They are made by a [`compiler`], which is another crate's: `mote_jit`. It takes what it
//! has to know of this one from here, and what this module makes public is for that crate alone. What is compiled inline, and
//! when the code gives up, is described in guides/internals/native-details.md.
//!
//! Invariants:
//! 1. Native code holds no value across turns: collections happen between turns.
//! 2. Nothing unwinds through a native frame: helpers catch what panics and carry it to the turn boundary.
//! 3. A turn is undone and run again by the interpreter when its native code cannot go on. So the interpreter runs whatever is
//!    not compiled, yet or ever, and the outcome of a turn does not depend on the tier.
//! 4. No native frame is larger than [`LARGEST_FRAME`], or [`LARGEST_BEHAVIOUR_FRAME`]; what would have a larger one is
//!    refused. Refused code is the interpreter's.
//! 5. Code memory is written first and made executable afterwards, never both; it lives as long as the program. Each machine
//!    has its own, also where the same unit was compiled for another one before.
pub mod compiler;
pub mod helpers;
#[allow(missing_docs)] // Its names are those of the fields.
pub mod layout;
pub(crate) mod tier;

#[cfg(all(test, not(loom)))]
pub(crate) use helpers::asked as helper;
pub(crate) use tier::CompilerThread;

pub use crate::code::entry;
pub use crate::code::memory::CodeMemory;
pub use crate::code::slots::{BehaviourSlot, FunctionSlot};
pub use crate::platform::code_pages::can_be_published;
pub use crate::terms::prim::arith::as_f64;
pub use crate::terms::prim::math::function as math_function;
pub use crate::terms::prim::order::{is_alone, two_zeros};
pub use crate::turns::turn::exchange::Stop;
pub use crate::turns::turn::fuel::{DEPTH_SHIFT, MAX_DEPTH, SLICE};

use crate::code::ir::MAX_REGISTERS;
use crate::heap::make::LEAST_ROW_TABLE;

// So native code need not tell a table from other tuples that it matches as a whole.
const _: () = assert!(LEAST_ROW_TABLE > MAX_REGISTERS as usize);

/// Bytes of the largest native frame of a function; one that needs more stays the interpreter's.
pub const LARGEST_FRAME: usize = 8 * MAX_REGISTERS as usize;
/// Bytes of the largest native frame of a behaviour. There is one at a time; it stands on the stacks of callers, too (stand_in.rs).
pub const LARGEST_BEHAVIOUR_FRAME: usize = 64 << 10;
/// Stack for everything that is not nested calls of the language: the thread's own frames, helpers, a behaviour's.
const OTHER_FRAMES: usize = 8 << 20;
/// The stack of a dispatch thread. Its pages are taken when touched.
pub(crate) const STACK_BYTES: usize = OTHER_FRAMES + MAX_DEPTH * (LARGEST_FRAME + 16);
