//! The constants of a unit as values, in the heap of its program.
use super::ir::{Constant, Unit};
use crate::base::atom::Atom;
use crate::heap::Heap;
use crate::terms::map;
use crate::values::foreign::Class;
use crate::values::foreign::ForeignRef;
use crate::values::value::Value;

/// Makes a foreign value of an opaque constant's external form.
pub type DecodeOpaque<'a> = &'a dyn Fn(Class, &[u8]) -> Option<ForeignRef>;

/// Up to eight bytes, the lowest first.
fn limb(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |limb, byte| limb << 8 | u64::from(*byte))
}

/// The unit's constants as values; `None` when memory ends or an opaque one cannot be decoded.
pub(super) fn constants(
    unit: &Unit,
    atoms: &[Atom],
    heap: &mut Heap,
    opaque: DecodeOpaque,
) -> Option<Box<[Value]>> {
    let mut values: Vec<Value> = Vec::with_capacity(unit.constants.len());
    for constant in &unit.constants {
        let value = match constant {
            Constant::Integer(n) => Value::integer(*n)?,
            Constant::Float(f) => heap.float(*f),
            Constant::Atom(index) => Value::atom(atoms[*index as usize]),
            Constant::Nil => Value::EMPTY_LIST,
            Constant::Tuple(elements) => {
                heap.tuple(elements.len(), |i| values[elements[i] as usize])
            }
            Constant::Cons { head, tail } => {
                heap.cons(values[*head as usize], values[*tail as usize])
            }
            Constant::Map(entries) => {
                let entries = entries.iter();
                let entries =
                    entries.map(|(key, value)| (values[*key as usize], values[*value as usize]));
                map::from_entries(heap, entries.collect())
            }
            Constant::Binary(bytes) => heap.bytes(bytes),
            Constant::Bits { unused, bytes } => {
                let binary = heap.bytes(bytes);
                heap.bitstring(binary, 0, usize::from(*unused))
            }
            Constant::Big { negative, bytes } => {
                let limbs: Vec<u64> = bytes.chunks(8).map(limb).collect();
                heap.integer(*negative, &limbs)
            }
            Constant::Opaque { class, bytes } => heap.foreign(opaque(*class, bytes)?),
        };
        if value.is_none() {
            return None;
        }
        values.push(value);
    }
    Some(values.into())
}
