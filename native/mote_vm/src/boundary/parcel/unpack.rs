//! A parcel becomes a value in a heap.
use super::{
    AGAIN, BITSTRING, BYTES, CONSTANT, COUNT_SHIFT, FLOAT, FOREIGN, FUNCTION, INTEGER, KIND, LIST,
    MADE, MAP, ONCE, TIMER, TUPLE,
};
use crate::base::ids::TimerId;
use crate::heap::Heap;
use crate::terms::map;
use crate::values::actor::{Actor, BehaviourId};
use crate::values::foreign::ForeignRef;
use crate::values::value::Value;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The parts of a row of words that are there several times and were made, by their places.
#[derive(Default)]
pub(crate) struct MadeOnce(FxHashMap<usize, Value>);

impl MadeOnce {
    /// Forgets them: what they were made in was rewound.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Makes the value that is written in that range of a row.
#[inline]
pub(crate) fn unpack(
    words: &[Value],
    range: Range<usize>,
    foreigns: impl FnMut(usize) -> Option<ForeignRef>,
    made: &[Value],
    once: &mut MadeOnce,
    heap: &mut Heap,
    stack: &mut Vec<Value>,
) -> Value {
    match row(&words[range.clone()]) {
        Some(elements) => heap.tuple(elements.len(), |i| elements[i]),
        None => match unpack_all(words, range, foreigns, made, once, heap, stack) {
            true => stack.pop().unwrap_or(Value::UNDEFINED),
            false => Value::NONE,
        },
    }
}

/// The elements, if that is a tuple where each stands for itself: most messages are, and need no stack. Raw words cannot be
/// taken for one, for the last word is a command then.
fn row(words: &[Value]) -> Option<&[Value]> {
    let (command, elements) = words.split_first()?;
    let is_row = command.word() == TUPLE | (elements.len() as u64) << COUNT_SHIFT
        && elements.iter().all(|element| !element.is_boxed());
    is_row.then_some(elements)
}

/// A part that is being made: its place, where its words begin, and where reading goes on then.
struct OpenedPart {
    place: usize,
    from: usize,
    resume: usize,
}

/// The part that ends at that place.
fn part(words: &[Value], place: usize, resume: usize) -> OpenedPart {
    let count = words
        .get(place)
        .map_or(0, |mark| mark.word() >> COUNT_SHIFT);
    OpenedPart {
        place,
        from: place.saturating_sub(count as usize),
        resume,
    }
}

/// Makes the values that are written there one after the other, the first on top of the stack; `false` when the memory is
/// exhausted.
pub(crate) fn unpack_all(
    words: &[Value],
    range: Range<usize>,
    mut foreigns: impl FnMut(usize) -> Option<ForeignRef>,
    made: &[Value],
    once: &mut MadeOnce,
    heap: &mut Heap,
    stack: &mut Vec<Value>,
) -> bool {
    stack.clear();
    // The innermost part is last.
    let mut parts: Vec<OpenedPart> = Vec::new();
    let (mut rest, mut stop) = (&words[..range.end], range.start);
    loop {
        while rest.len() <= stop {
            let Some(part) = parts.pop() else {
                return true;
            };
            let value = stack.last().copied().unwrap_or(Value::UNDEFINED);
            once.0.insert(part.place, value);
            rest = &words[..part.resume];
            stop = parts.last().map_or(range.start, |part| part.from);
        }
        let Some((&value, before)) = rest.split_last() else {
            return true;
        };
        rest = before;
        let word = value.word();
        if !value.is_boxed() {
            stack.push(value);
            continue;
        }
        let count = (word >> COUNT_SHIFT) as usize;
        let value = match word & KIND {
            TUPLE => {
                let from = stack.len().saturating_sub(count);
                let made = heap.table(count, |i| take(stack, i));
                stack.truncate(from);
                made
            }
            FUNCTION => {
                let what = Value::from_word(raw(&mut rest));
                let from = stack.len().saturating_sub(count);
                let part = |i: usize| match i {
                    0 => what,
                    i => take(stack, i - 1),
                };
                let made = heap.function(1 + count, part);
                stack.truncate(from);
                made
            }
            LIST => list(heap, stack, count),
            FLOAT => heap.float(f64::from_bits(raw(&mut rest))),
            BYTES => heap.bytes(bytes(&mut rest, count)),
            INTEGER => {
                let limbs = (count / 2).min(rest.len());
                let (before, raw) = rest.split_at(rest.len() - limbs);
                rest = before;
                let limbs: Vec<u64> = raw.iter().map(|limb| limb.word()).collect();
                heap.integer(count % 2 == 1, &limbs)
            }
            FOREIGN => match foreigns(count) {
                Some(foreign) => heap.foreign(foreign),
                None => Value::UNDEFINED,
            },
            TIMER => heap.timer(TimerId {
                serial: raw(&mut rest),
                thread: (count >> 32) as u16,
                place: count as u32,
            }),
            MADE => made.get(count).copied().unwrap_or(Value::UNDEFINED),
            MAP => {
                let entries = (0..count).map(|i| (take(stack, 2 * i), take(stack, 2 * i + 1)));
                let made = map::from_entries(heap, entries.collect());
                stack.truncate(stack.len().saturating_sub(2 * count));
                made
            }
            ONCE | AGAIN => {
                let (place, resume) = match word & KIND {
                    ONCE => (rest.len(), rest.len() - count.min(rest.len())),
                    _ => (count, rest.len()),
                };
                match once.0.get(&place) {
                    Some(&value) => {
                        rest = &words[..resume];
                        value
                    }
                    // A part lies before what names it (parcel.rs, invariant 3), so this comes to an end.
                    None => {
                        let part = part(words, place.min(rest.len()), resume);
                        rest = &words[..part.place];
                        stop = part.from;
                        parts.push(part);
                        continue;
                    }
                }
            }
            BITSTRING => {
                let binary = take(stack, 0);
                stack.truncate(stack.len().saturating_sub(1));
                heap.bitstring(binary, 0, count)
            }
            CONSTANT => {
                let address = take(stack, 0);
                stack.truncate(stack.len().saturating_sub(1));
                constant(address)
            }
            _ => {
                let (sponsor, address) = (take(stack, 0), take(stack, 1));
                stack.truncate(stack.len().saturating_sub(2));
                heap.on(sponsor, address)
            }
        };
        if value.is_none() {
            return false;
        }
        stack.push(value);
    }
}

/// Returns the value that the actor at an address holds, if it is a shared constant, which never changes.
fn constant(address: Value) -> Value {
    if !address.is_address() {
        return Value::UNDEFINED;
    }
    // SAFETY: the actors of a parcel's addresses live until it is unpacked (parcel.rs, invariant 2).
    let actor: &Actor = unsafe { &*address.address_pointer() };
    match actor.header().behaviour() {
        BehaviourId::SHARED => actor.state(),
        _ => Value::UNDEFINED,
    }
}

/// A list of `count` elements and its tail: that lies deepest, the first element on top.
fn list(heap: &mut Heap, stack: &mut Vec<Value>, count: usize) -> Value {
    let from = stack.len().saturating_sub(count + 1);
    let mut list = stack.get(from).copied().unwrap_or(Value::UNDEFINED);
    for element in stack.iter().skip(from + 1) {
        list = heap.cons(*element, list);
        if list.is_none() {
            break;
        }
    }
    stack.truncate(from);
    list
}

/// Takes `count` bytes off the end.
fn bytes<'w>(rest: &mut &'w [Value], count: usize) -> &'w [u8] {
    let words = count.div_ceil(8).min(rest.len());
    let (before, raw) = rest.split_at(rest.len() - words);
    *rest = before;
    // SAFETY: `words` words hold at least `count` bytes (fewer only if the builder broke its promise, and then the length
    // is clamped), and bytes have no alignment.
    unsafe { std::slice::from_raw_parts(raw.as_ptr().cast::<u8>(), count.min(words * 8)) }
}

/// The i-th value from the top.
fn take(stack: &[Value], i: usize) -> Value {
    match stack.len().checked_sub(i + 1) {
        Some(at) => stack[at],
        None => Value::UNDEFINED,
    }
}

fn raw(rest: &mut &[Value]) -> u64 {
    match rest.split_last() {
        Some((&word, before)) => {
            *rest = before;
            word.word()
        }
        None => 0,
    }
}
