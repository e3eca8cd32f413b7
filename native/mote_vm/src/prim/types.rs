//! Which type a value has, in Elixir's eyes; and the few operations on types that have no other home.
use crate::foreign::Class;
use crate::heap::Heap;
use crate::value::Value;

/// Fixnums and big integers.
#[inline(always)]
pub(crate) fn is_integer(a: Value) -> bool {
    a.is_fixnum() || is_class(a, Class::BigInteger)
}

/// Immediate and boxed floats.
#[inline(always)]
pub(crate) fn is_float(a: Value) -> bool {
    a.as_float().is_some()
}

/// Integers and floats.
#[inline(always)]
pub(crate) fn is_number(a: Value) -> bool {
    is_integer(a) || is_float(a)
}

/// Atoms, with booleans and `nil`.
#[inline(always)]
pub(crate) fn is_atom(a: Value) -> bool {
    a.as_atom().is_some()
}

/// `true` and `false`.
#[inline(always)]
pub(crate) fn is_boolean(a: Value) -> bool {
    a == Value::TRUE || a == Value::FALSE
}

/// Tuples.
#[inline(always)]
pub(crate) fn is_tuple(a: Value) -> bool {
    a.as_tuple().is_some()
}

/// The empty list and every cell, of improper lists too.
#[inline(always)]
pub(crate) fn is_list(a: Value) -> bool {
    a.is_cons() || a == Value::EMPTY_LIST
}

/// Binaries, wherever their bytes are.
#[inline(always)]
pub(crate) fn is_binary(a: Value) -> bool {
    as_binary(a).is_some()
}

/// Binaries, and bitstrings that are none.
#[inline(always)]
pub(crate) fn is_bitstring(a: Value) -> bool {
    is_binary(a) || is_class(a, Class::Bitstring)
}

/// Maps.
#[inline(always)]
pub(crate) fn is_map(a: Value) -> bool {
    is_class(a, Class::Map)
}

/// Functions.
#[inline(always)]
pub(crate) fn is_function(a: Value) -> bool {
    is_class(a, Class::Function)
}

/// References; not those of `on`.
#[inline(always)]
pub(crate) fn is_reference(a: Value) -> bool {
    is_class(a, Class::Reference)
}

/// Processes of the BEAM only.
#[inline(always)]
pub(crate) fn is_pid(a: Value) -> bool {
    is_class(a, Class::Pid)
}

/// Whatever `send` delivers to.
#[inline(always)]
pub(crate) fn is_address(a: Value) -> bool {
    a.is_address() || is_far_address(a)
}

#[cold]
#[inline(never)]
fn is_far_address(a: Value) -> bool {
    a.as_on().is_some() || a.as_foreign().is_some_and(|foreign| foreign.is_address())
}

#[inline(always)]
fn is_class(a: Value, class: Class) -> bool {
    a.foreign_class() == Some(class)
}

/// The bytes of a binary, and of nothing else: a foreign value of another class may know bytes of its own.
pub(crate) fn as_binary<'h>(a: Value) -> Option<&'h [u8]> {
    match a.foreign_class() {
        // A binary that does not tell its bytes is still a binary.
        Some(Class::Binary) => Some(a.as_bytes().unwrap_or(&[])),
        Some(_) => None,
        None => a.as_bytes(),
    }
}

/// `not a`, for booleans.
#[inline(always)]
pub(crate) fn not(a: Value) -> Value {
    if a == Value::TRUE {
        Value::FALSE
    } else if a == Value::FALSE {
        Value::TRUE
    } else {
        Value::NONE
    }
}

/// `byte_size(a)`, for binaries.
pub(crate) fn byte_size(a: Value) -> Value {
    match as_binary(a) {
        Some(bytes) => Value::fixnum(bytes.len() as i64),
        None => Value::NONE,
    }
}

/// `on(sponsor, address)`: an actor's address that carries the sponsor of that name. Addresses of other kinds have
/// no sponsor to choose: no answer.
pub(crate) fn on(heap: &mut Heap, sponsor: Value, address: Value) -> Value {
    if is_atom(sponsor) && address.is_address() {
        heap.on(sponsor, address)
    } else {
        Value::NONE
    }
}
