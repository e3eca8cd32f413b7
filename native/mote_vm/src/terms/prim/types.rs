//! Which type a value has in Elixir, and the few operations on types that belong nowhere else.
use crate::heap::Heap;
use crate::values::foreign::Class;
use crate::values::value::Value;

/// Integers of any size.
#[inline(always)]
pub(crate) fn is_integer(a: Value) -> bool {
    a.is_fixnum() || a.as_big().is_some() || is_class(a, Class::BigInteger)
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
    a.as_bits().is_some()
}

/// Maps.
#[inline(always)]
pub(crate) fn is_map(a: Value) -> bool {
    a.as_map_node().is_some() || is_class(a, Class::Map)
}

/// Functions.
#[inline(always)]
pub(crate) fn is_function(a: Value) -> bool {
    a.as_function().is_some() || is_class(a, Class::Function)
}

/// Functions that take that many arguments. The number must be an integer that is not negative.
pub(crate) fn is_function_of(a: Value, arity: Value) -> Value {
    let negative = match (arity.as_fixnum(), arity.as_big()) {
        (Some(n), _) => n < 0,
        (None, Some(n)) => n.is_negative(),
        (None, None) => return Value::NONE,
    };
    if negative {
        return Value::NONE;
    }
    let takes = match (a.as_function(), a.as_foreign()) {
        (Some(parts), _) => parts[0].as_tuple().map(|what| what[FUNCTION_ARITY]),
        (None, Some(foreign)) => foreign.arity().map(Value::fixnum),
        _ => None,
    };
    Value::boolean(takes == Some(arity))
}

/// Place of the number of arguments in what a function is (code/functions.rs).
pub(crate) const FUNCTION_ARITY: usize = 2;

/// Returns the capture of a function at an index.
pub(crate) fn captured(a: Value, index: Value) -> Value {
    let found = a.as_function().zip(index.as_fixnum());
    let found = found.and_then(|(parts, at)| parts[1..].get(usize::try_from(at).ok()?));
    found.copied().unwrap_or(Value::NONE)
}

/// References, those of timers included, wherever they are; not those of `on`.
#[inline(always)]
pub(crate) fn is_reference(a: Value) -> bool {
    is_class(a, Class::Reference) || a.as_timer().is_some() || is_class(a, Class::Timer)
}

/// Processes of the BEAM only.
#[inline(always)]
pub(crate) fn is_pid(a: Value) -> bool {
    is_class(a, Class::Pid)
}

/// Returns whether `send` delivers to a value.
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
#[inline(always)]
pub(crate) fn as_binary<'h>(a: Value) -> Option<&'h [u8]> {
    a.as_binary()
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

/// `byte_size(a)`: the bytes that a bitstring takes, the last one of which may not be full.
pub(crate) fn byte_size(a: Value) -> Value {
    match a.as_bits() {
        Some(bits) => Value::fixnum(bits.bytes() as i64),
        None => Value::NONE,
    }
}

/// `on(sponsor, address)`: an actor's address that carries the sponsor of that name, in place of any that it carried.
/// Processes and customers have no sponsor to choose, and stay as they are.
pub(crate) fn on(heap: &mut Heap, sponsor: Value, address: Value) -> Value {
    let Some(name) = sponsor.as_atom() else {
        return Value::NONE;
    };
    if address.is_address() {
        return heap.on(sponsor, address);
    }
    if let Some((_, address)) = address.as_on() {
        return heap.on(sponsor, address);
    }
    match address.as_foreign() {
        Some(foreign) if matches!(foreign.class(), Class::Pid | Class::Address) => {
            match foreign.on(name) {
                Some(carrying) => heap.foreign(carrying),
                None => address,
            }
        }
        _ => Value::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::atom::Atom;
    use crate::testing::terms::{Built, Carrying, Model, Opaque};

    type Test = fn(Value) -> bool;

    #[test]
    fn each_value_has_its_types() {
        let tests: [(&str, Test); 14] = [
            ("integer", is_integer),
            ("float", is_float),
            ("number", is_number),
            ("atom", is_atom),
            ("boolean", is_boolean),
            ("tuple", is_tuple),
            ("list", is_list),
            ("binary", is_binary),
            ("bitstring", is_bitstring),
            ("map", is_map),
            ("function", is_function),
            ("reference", is_reference),
            ("pid", is_pid),
            ("address", is_address),
        ];
        let rows: Vec<(Model, &[&str])> = vec![
            (Model::Int(1), &["integer", "number"]),
            (Model::Big(1 << 70), &["integer", "number"]),
            (Model::Beyond(true), &["integer", "number"]),
            (Model::Float(1.5), &["float", "number"]),
            (Model::Float(1e300), &["float", "number"]),
            (Model::Atom("a"), &["atom"]),
            (Model::Atom("nil"), &["atom"]),
            (Model::Atom("true"), &["atom", "boolean"]),
            (Model::Atom("false"), &["atom", "boolean"]),
            (Model::Tuple(vec![]), &["tuple"]),
            (Model::List(vec![], None), &["list"]),
            (
                Model::List(vec![Model::Int(1)], Some(Box::new(Model::Int(2)))),
                &["list"],
            ),
            (Model::Bytes(vec![1]), &["binary", "bitstring"]),
            (Model::Bytes(vec![1; 1000]), &["binary", "bitstring"]),
            (Model::Bits(vec![true], 0), &["bitstring"]),
            (Model::Opaque(Class::Map, 0), &["map"]),
            (Model::Opaque(Class::Function, 0), &["function"]),
            (Model::Opaque(Class::Reference, 1), &["reference"]),
            (Model::Opaque(Class::Reference, 0), &["reference"]),
            (Model::Opaque(Class::Timer, 0), &["reference"]),
            (Model::Opaque(Class::Address, 0), &["address"]),
            // One that takes no more messages.
            (Model::Opaque(Class::Address, 1), &[]),
            (Model::Opaque(Class::Pid, 0), &["pid", "address"]),
            (Model::Opaque(Class::Port, 0), &[]),
            (Model::Address(0), &["address"]),
            (Model::On("a", 0), &["address"]),
        ];
        let mut built = Built::new();
        for (model, expected) in rows {
            let value = built.value(&model);
            let names: Vec<&str> = tests
                .iter()
                .filter(|(_, test)| test(value))
                .map(|(name, _)| *name)
                .collect();
            assert_eq!(names, expected, "{model:?}");
        }
    }

    #[test]
    fn not_is_for_booleans() {
        assert!(not(Value::TRUE) == Value::FALSE && not(Value::FALSE) == Value::TRUE);
        assert!(not(Value::NIL).is_none() && not(Value::fixnum(0)).is_none());
    }

    #[test]
    fn byte_size_is_for_bitstrings() {
        let mut built = Built::new();
        for n in [0, 1, 7, 8, 256, 257, 5000] {
            let value = built.value(&Model::Bytes(vec![0; n]));
            assert_eq!(byte_size(value).as_fixnum(), Some(n as i64));
        }
        for (n, before, bytes) in [(1, 0, 1), (7, 5, 1), (9, 7, 2), (25, 3, 4)] {
            let bits = built.value(&Model::Bits(vec![true; n], before));
            assert_eq!(byte_size(bits).as_fixnum(), Some(bytes));
        }
        assert!(byte_size(Value::NIL).is_none());
    }

    #[test]
    fn on_takes_an_atom_and_an_address() {
        let mut built = Built::new();
        let [single, other] = ["single", "other"].map(|name| Value::atom(Atom::new(name)));
        let address = built.value(&Model::Address(0));
        let reference = on(&mut built.heap, single, address);
        assert!(reference.as_on() == Some((single, address)));
        // The last one counts.
        let again = on(&mut built.heap, other, reference);
        assert!(again.as_on() == Some((other, address)));
        for model in [
            Model::Opaque(Class::Pid, 0),
            Model::Opaque(Class::Address, 0),
            Model::Opaque(Class::Address, 1),
        ] {
            let value = built.value(&model);
            assert!(on(&mut built.heap, single, value) == value, "{model:?}");
        }
        // One that has a sponsor to choose.
        let far = built.value(&Model::Opaque(Class::Address, Opaque::CHOOSES));
        let carrying = on(&mut built.heap, single, far);
        let foreign = carrying.as_foreign().expect("an address elsewhere");
        let carried = foreign.as_any().downcast_ref::<Carrying>();
        assert_eq!(carried.map(|carrying| carrying.0), single.as_atom());
        for other in [address, far] {
            assert!(on(&mut built.heap, Value::fixnum(1), other).is_none());
        }
        for model in [
            Model::Opaque(Class::Reference, 0),
            Model::Opaque(Class::Timer, 0),
            Model::Opaque(Class::Port, 0),
            Model::Atom("nil"),
        ] {
            let value = built.value(&model);
            assert!(on(&mut built.heap, single, value).is_none(), "{model:?}");
        }
    }
}
