//! A value, part by part, in the order in which a parcel is written (boundary/parcel.rs).
//!
//! Invariants:
//! 1. What is shared is shown as often as it is there: equal values show equal parts, however they were made.
//! 2. A walk costs no native stack, and ends when the parts of one situation are too many ([`TooLarge`]).
use crate::base::ids::TimerId;
use crate::terms::map;
use crate::values::actor::Actor;
use crate::values::big::Big;
use crate::values::bits::Bits;
use crate::values::foreign::ForeignRef;
use crate::values::value::Value;
use std::sync::Arc;

/// Words of one situation, written out: half a megabyte.
const MOST: usize = 1 << 16;

/// A situation is larger than a search keeps.
pub(super) struct TooLarge;

/// One part of a value. The parts of a compound follow it.
pub(super) enum Component<'h> {
    /// A number, an atom, an empty list.
    Word(Value),
    Address(*const Actor),
    Tuple(usize),
    /// A function, by a word that is the same for the same function; as many captures follow.
    Function(Value, usize),
    /// A list: as many elements follow, and the tail.
    List(usize),
    /// A map: as many keys follow, each with its item.
    Map(usize),
    /// A sponsor and an address follow.
    On,
    Float(u64),
    Bytes(&'h [u8]),
    Bits(Bits<'h>),
    Integer(Big<'h>),
    Timer(TimerId),
    /// The number of a foreign value.
    Foreign(u32),
}

/// A walk through the values of one situation, and the foreign values that all of them have had.
#[derive(Default)]
pub(super) struct Components {
    stack: Vec<Value>,
    shown: usize,
    pub(super) foreigns: Vec<ForeignRef>,
}

impl Components {
    /// Another situation.
    pub(super) fn begin(&mut self) {
        self.shown = 0;
    }

    /// Shows every part of a value.
    pub(super) fn each(
        &mut self,
        value: Value,
        mut see: impl FnMut(Component<'_>),
    ) -> Result<(), TooLarge> {
        if value.is_immediate() {
            see(Component::Word(value));
            return Ok(());
        }
        self.stack.clear();
        self.stack.push(value);
        while let Some(value) = self.stack.pop() {
            let part = self.open(value);
            self.shown += match part {
                Component::Bytes(bytes) => 1 + bytes.len() / size_of::<Value>(),
                Component::Bits(bits) => 2 + bits.len() / 8 / size_of::<Value>(),
                _ => 1,
            };
            if self.shown + self.stack.len() > MOST {
                return Err(TooLarge);
            }
            see(part);
        }
        Ok(())
    }

    /// The first part of a value; what belongs to it comes next.
    fn open<'h>(&mut self, value: Value) -> Component<'h> {
        if value.is_immediate() {
            return Component::Word(value);
        }
        if value.is_address() {
            return Component::Address(value.address_pointer());
        }
        let from = self.stack.len();
        let part = self.compound(value);
        self.stack[from..].reverse();
        part
    }

    fn compound<'h>(&mut self, value: Value) -> Component<'h> {
        let from = self.stack.len();
        if value.is_cons() {
            let mut rest = value;
            while let Some((head, tail)) = rest.as_cons().filter(|_| self.stack.len() < MOST) {
                self.stack.push(head);
                rest = tail;
            }
            let count = self.stack.len() - from;
            self.stack.push(rest);
            Component::List(count)
        } else if let Some(elements) = value.as_tuple() {
            self.stack.extend(elements);
            Component::Tuple(elements.len())
        } else if let Some([what, captures @ ..]) = value.as_function() {
            self.stack.extend(captures);
            Component::Function(*what, captures.len())
        } else if let Some(node) = map::Node::of(value) {
            for (key, item) in map::entries(node) {
                self.stack.extend([key, item]);
            }
            Component::Map((self.stack.len() - from) / 2)
        } else if let Some((sponsor, address)) = value.as_on() {
            self.stack.extend([sponsor, address]);
            Component::On
        } else if let Some(bytes) = value.as_binary() {
            Component::Bytes(bytes)
        } else if let Some(bits) = value.as_bitstring() {
            Component::Bits(bits)
        } else if let Some(big) = value.as_big() {
            Component::Integer(big)
        } else if let Some(id) = value.as_timer() {
            Component::Timer(id)
        } else if let Some(float) = value.as_float() {
            Component::Float(float.to_bits())
        } else {
            Component::Foreign(self.foreign(value))
        }
    }

    /// The number of a foreign value. Equal ones have the same.
    pub(super) fn foreign(&mut self, value: Value) -> u32 {
        let Some(foreign) = value.as_foreign() else {
            return u32::MAX;
        };
        let is_same = |known: &ForeignRef| {
            Arc::ptr_eq(known, foreign)
                || known.class() == foreign.class() && known.compare(&**foreign).is_eq()
        };
        let found = self.foreigns.iter().position(is_same);
        let number = found.unwrap_or_else(|| {
            self.foreigns.push(foreign.clone());
            self.foreigns.len() - 1
        });
        number as u32
    }
}
