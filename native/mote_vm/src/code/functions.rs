//! Functions as values, and their code.
//!
//! The first part of such a value (heap/cell.rs) is a tuple `{module, name, arguments, hash, slot}`: the module and name of the
//! function of the unit, the number of arguments that the value takes, the hash of the unit, and the address of the function's slot
//! as an integer. It is a constant, made once for each function of each version of a unit: so two values that are the same function
//! share it. Behind it is what the function has captured. The function itself takes the value and then the arguments.
//!
//! Invariants:
//! 1. Such a tuple is the first part of a function only if [`described`] has made it: so the address in it is that of a slot of the
//!    program, which lives as long as the program, and whose function has no effects and takes one argument more.
use super::slots::FunctionSlot;
use crate::base::atom::Atom;
use crate::heap::Heap;
use crate::terms::prim::types::FUNCTION_ARITY;
use crate::values::value::{Value, FIXNUM_MAX};
use std::ptr::{with_exposed_provenance, NonNull};

/// A function as a value of the machine that has loaded its unit.
#[derive(Clone, Copy)]
pub struct KnownFunction(pub(crate) Value);

/// Place of the slot.
const SLOT: usize = 4;

/// Makes the value of a function of a unit; `NONE` when memory ends.
pub(super) fn described(
    heap: &mut Heap,
    (module, name, arity): (Atom, Atom, u32),
    hash: u64,
    slot: *const FunctionSlot,
) -> Value {
    let parts = [
        Value::atom(module),
        Value::atom(name),
        Value::fixnum(i64::from(arity) - 1),
        Value::fixnum(hash as i64 & FIXNUM_MAX),
        Value::fixnum(slot.expose_provenance() as i64),
    ];
    heap.tuple(parts.len(), |i| parts[i])
}

/// The slot of a function that is a value and takes `arguments` arguments.
#[inline(always)]
pub(crate) fn slot_of(function: Value, arguments: usize) -> Option<NonNull<FunctionSlot>> {
    let what = function.as_function()?.first()?.as_tuple()?;
    if what[FUNCTION_ARITY] != Value::fixnum(arguments as i64) {
        return None;
    }
    let address = what[SLOT].fixnum_value() as usize;
    NonNull::new(with_exposed_provenance::<FunctionSlot>(address).cast_mut())
}
