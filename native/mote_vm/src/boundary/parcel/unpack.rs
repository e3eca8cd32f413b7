//! A parcel becomes a value in a heap.
use super::{BYTES, COUNT_SHIFT, FLOAT, FOREIGN, INTEGER, KIND, LIST, MADE, MAP, TIMER, TUPLE};
use crate::base::ids::TimerId;
use crate::heap::Heap;
use crate::terms::map;
use crate::values::foreign::ForeignRef;
use crate::values::value::Value;

#[inline]
pub(crate) fn unpack(
    words: &[Value],
    foreigns: impl FnMut(usize) -> Option<ForeignRef>,
    made: &[Value],
    heap: &mut Heap,
    stack: &mut Vec<Value>,
) -> Value {
    match row(words) {
        Some(elements) => heap.tuple(elements.len(), |i| elements[i]),
        None => unpack_any(words, foreigns, made, heap, stack),
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

fn unpack_any(
    words: &[Value],
    mut foreigns: impl FnMut(usize) -> Option<ForeignRef>,
    made: &[Value],
    heap: &mut Heap,
    stack: &mut Vec<Value>,
) -> Value {
    stack.clear();
    let mut rest = words;
    while let Some((&value, before)) = rest.split_last() {
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
            _ => {
                let (sponsor, address) = (take(stack, 0), take(stack, 1));
                stack.truncate(stack.len().saturating_sub(2));
                heap.on(sponsor, address)
            }
        };
        if value.is_none() {
            return Value::NONE;
        }
        stack.push(value);
    }
    stack.pop().unwrap_or(Value::UNDEFINED)
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
