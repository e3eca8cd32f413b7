//! Where native code finds things: offsets of fields, taken from the Rust types, and the encodings of values.
//!
//! Nothing is defined here: all of it follows the types that it is taken from.
use crate::base::counters::Counts;
pub use crate::base::work::FREE as FREE_ELEMENTS;
use crate::code::slots::{BehaviourSlot, FunctionSlot};
pub use crate::heap::block::GRANULE;
use crate::heap::cell::MAY_HAVE_ATOMS;
pub use crate::heap::cell::{header, Kind, CLASS_SHIFT, CONSECUTIVE, COUNT_SHIFT, LONG_BINARY};
use crate::heap::Heap;
pub use crate::heap::COPIED_BYTES;
use crate::turns::queue::{Event, EventQueue};
use crate::turns::turn::at_commit::{AtCommit, Next};
use crate::turns::turn::exchange::{Exchange, Halt, Stop};
use crate::turns::turn::fuel::Fuel;
use crate::turns::turn::Turn;
pub use crate::turns::turn::SPENT;
use crate::values::actor::{Actor, BehaviourId};
use crate::values::value::{self, Value};
use std::mem::offset_of;

/// Fields of the turn.
const NEXT: usize = offset_of!(Turn, at_commit) + offset_of!(AtCommit, next);
const EXCHANGE: usize = offset_of!(Turn, exchange);
const HALT: usize = EXCHANGE + offset_of!(Exchange, halt);
pub const HEAP_NEXT: i32 = (offset_of!(Turn, heap) + Heap::NEXT) as i32;
pub const HEAP_END: i32 = (offset_of!(Turn, heap) + Heap::END) as i32;
pub const NEXT_ACTOR: i32 = (offset_of!(Turn, heap) + Heap::NEXT_ACTOR) as i32;
pub const END_OF_ACTORS: i32 = (offset_of!(Turn, heap) + Heap::END_OF_ACTORS) as i32;
pub const QUEUE_TAIL: i32 = (offset_of!(Turn, queue) + EventQueue::TAIL) as i32;
pub const QUEUE_TAIL_END: i32 = (offset_of!(Turn, queue) + EventQueue::TAIL_END) as i32;
pub const CREATES: i32 = (offset_of!(Turn, counts) + offset_of!(Counts, creates)) as i32;
pub const NEXT_BEHAVIOUR: i32 = (NEXT + offset_of!(Next, behaviour)) as i32;
pub const NEXT_STATE: i32 = (NEXT + offset_of!(Next, state)) as i32;
pub const HALT_STOP: i32 = (HALT + offset_of!(Halt, stop)) as i32;
pub const HALT_REASON: i32 = (HALT + offset_of!(Halt, reason)) as i32;
pub const BIRTH: i32 = offset_of!(Turn, birth) as i32;
pub const ACTOR: i32 = offset_of!(Turn, actor) as i32;
pub const FUEL: i32 = (offset_of!(Turn, fuel) + offset_of!(Fuel, slice)) as i32;
pub const DEPTH: i32 = (offset_of!(Turn, fuel) + offset_of!(Fuel, depth)) as i32;
pub const ASKED: i32 = (EXCHANGE + offset_of!(Exchange, asked)) as i32;
pub const ANSWER: i32 = (EXCHANGE + offset_of!(Exchange, answer)) as i32;
pub const PROTECTED: i32 = (EXCHANGE + offset_of!(Exchange, protected)) as i32;
/// Offset of the flags for what is unusual about a turn. The flag [`SPENT`] says that it has spent fuel.
pub const UNUSUAL: i32 = offset_of!(Turn, unusual) as i32;

/// Fields of what code refers to.
pub const STATE: i32 = Actor::STATE as i32;
pub const SLOT_ID: i32 = BehaviourSlot::ID as i32;
pub const SLOT_NATIVE: i32 = FunctionSlot::NATIVE as i32;
pub const EVENT_TARGET: i32 = offset_of!(Event, target) as i32;
pub const EVENT_MESSAGE: i32 = offset_of!(Event, message) as i32;
pub const EVENT_BYTES: i64 = size_of::<Event>() as i64;

/// The number of the behaviour that ignores every message.
pub const SINK: u32 = BehaviourId::SINK.0;

/// Answer of a function, in place of a word, when it returns a machine float. No value has this word, as no list is there.
pub const UNBOXED: i64 = value::TAG_CONS as i64;

/// Words of a slice, and all but the first also of a long binary; and where the bytes of a short one are: see heap/cell.rs.
pub const SLICE_WHOLE: i32 = 8;
pub const SLICE_BYTES: i32 = 16;
pub const SLICE_COUNT: i32 = 24;
pub const SHORT_BYTES: i32 = 8;

/// Returns the header word of a tuple of `n` elements.
pub fn tuple_header(n: usize) -> i64 {
    header(Kind::Tuple, 0, n) as i64
}

/// Returns the header word of a function that is a value, of `n` parts.
pub fn function_header(n: usize) -> i64 {
    header(Kind::Function, 0, n) as i64
}

/// Mask of the bits in a header's lowest 16 that tell a map without atoms among its keys, and the bits of such a map.
pub const MAP_WITHOUT_ATOMS: (i64, i64) = (
    header(Kind::Map, MAY_HAVE_ATOMS, 0) as i64 | 0xff,
    Kind::Map as i64,
);

/// Answer of a helper when a guard has no answer: a word that no value has.
pub const NO_ANSWER: u64 = Value::EMPTY_LIST.word() + 0x10;

const _: () = assert!(size_of::<Stop>() == 4 && size_of::<Value>() == 8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_answer_is_no_value() {
        let word = Value::from_word(NO_ANSWER);
        assert!(!word.is_fixnum() && !word.is_flonum() && !word.is_boxed() && !word.is_cons());
        assert!(!word.is_address() && word.as_atom().is_none() && word != Value::EMPTY_LIST);
    }
}
