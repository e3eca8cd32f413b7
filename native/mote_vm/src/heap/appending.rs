//! Binaries that a turn appends to again and again. They have room behind them, so that only the appended bytes are
//! copied.
//!
//! Such a binary is a slice of a larger one. What a turn appends to a slice goes behind its last byte, and the answer is a longer
//! slice of the same binary; the shorter one stays what it is. Only the turn that has made them appends, and nobody else knows
//! them before it commits.
//!
//! Invariants:
//! 1. The first `used` bytes of a binary with room are written, and never change. No slice contains the bytes behind them.
//! 2. Only a slice that ends at `used` is appended to, so nothing is written twice.
//! 3. When a turn begins, nothing that was made before has room any more.
use super::make::INLINE_BYTES;
use super::Heap;
use crate::values::foreign::{Class, Foreign, CARRIED};
use crate::values::value::Value;
use std::alloc::Layout;
use std::cmp::Ordering;
use std::ptr::NonNull;
use std::sync::Arc;

/// Binaries that a turn appends to by turns, without copying them each time.
const AT_ONCE: usize = 4;

/// The binary that a turn may append to.
#[derive(Default)]
pub(super) struct Appending {
    /// The binaries with room, and the long ones that were made by appending once. The one at `next` is forgotten next.
    rooms: [Option<Growing>; AT_ONCE],
    /// See [`Heap::appended`].
    made: [Option<Value>; AT_ONCE],
    next: usize,
    /// True if anything is noted: most turns append to nothing.
    is_used: bool,
}

impl Appending {
    /// Forgets everything: invariant 3.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        if self.is_used {
            *self = Appending::default();
        }
    }

    /// Returns where to note something more.
    fn place(&mut self) -> usize {
        self.is_used = true;
        self.next = (self.next + 1) % AT_ONCE;
        self.next
    }
}

/// A binary with room, which the foreign value `whole` is.
#[derive(Clone, Copy)]
struct Growing {
    whole: Value,
    start: NonNull<u8>,
    used: usize,
    capacity: usize,
}

/// The bytes of a binary with room.
struct AppendRoom {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its bytes; they are written as the head of this file says, before another thread knows them.
unsafe impl Send for AppendRoom {}
// SAFETY: as above.
unsafe impl Sync for AppendRoom {}

impl AppendRoom {
    /// Returns `None` where the system has no memory for it.
    fn new(capacity: usize) -> Option<AppendRoom> {
        let layout = Layout::array::<u8>(capacity)
            .ok()
            .filter(|_| capacity > 0)?;
        // SAFETY: its size is not 0.
        let start = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
        Some(AppendRoom { start, layout })
    }
}

impl Drop for AppendRoom {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout by `new`.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), self.layout) }
    }
}

impl Foreign for AppendRoom {
    fn class(&self) -> Class {
        Class::Binary
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        self.bytes().cmp(&other.bytes())
    }
    fn bytes(&self) -> Option<&[u8]> {
        // SAFETY: they are initialised from the beginning on.
        Some(unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) })
    }
}

impl Heap {
    /// Returns which binary with room ends where this one does.
    fn room_behind(&self, binary: Value) -> Option<usize> {
        let (whole, end) = (binary.sliced()?, binary.as_bytes()?.as_ptr_range().end);
        let ends_here = |room: &Option<Growing>| {
            room.is_some_and(|r| {
                r.whole == whole && r.start.as_ptr().wrapping_add(r.used).cast_const() == end
            })
        };
        self.appending.rooms.iter().position(ends_here)
    }

    /// Returns whether a binary has room behind it, though it may not be enough.
    pub(crate) fn has_room_behind(&self, binary: Value) -> bool {
        self.room_behind(binary).is_some()
    }

    /// Appends to a binary that has room behind it. Returns `None` if it has not enough.
    pub(crate) fn append(&mut self, binary: Value, more: &[u8]) -> Option<Value> {
        let at = self.room_behind(binary)?;
        let room = self.appending.rooms[at].as_mut()?;
        if more.len() > room.capacity - room.used {
            return None;
        }
        // SAFETY: there is room for them behind what is used, of which nobody else knows anything (invariant 1).
        let behind = unsafe { room.start.as_ptr().add(room.used) };
        // SAFETY: as above; what is appended lies elsewhere, or before it.
        unsafe { std::ptr::copy_nonoverlapping(more.as_ptr(), behind, more.len()) };
        room.used += more.len();
        let (whole, bytes) = (room.whole, binary.as_bytes()?);
        Some(self.slice_of(whole, bytes.as_ptr(), bytes.len() + more.len()))
    }

    /// Makes a binary of bytes that begin with those of `first`. If that was itself made so in this turn, more is likely to be
    /// appended, and there is room for it.
    pub(crate) fn appended(&mut self, first: Value, bytes: Vec<u8>) -> Value {
        if bytes.len() <= INLINE_BYTES {
            return self.bytes(&bytes);
        }
        // What is noted here is forgotten when the next turn begins.
        self.moves += 1;
        let full = self.room_behind(first);
        let again = self
            .appending
            .made
            .iter()
            .position(|made| *made == Some(first));
        if full.is_some() || again.is_some() {
            if let Some(made) = self.with_room(&bytes, full) {
                // What else is appended to the first one is a text of its own.
                if let Some(at) = again {
                    self.appending.made[at] = None;
                }
                return made;
            }
        }
        let made = self.owned_bytes(bytes);
        let at = self.appending.place();
        self.appending.made[at] = Some(made);
        made
    }

    /// Makes a binary with as much room behind it, in the place of another one. Returns `None` where the memory does not allow
    /// that.
    fn with_room(&mut self, bytes: &[u8], in_place_of: Option<usize>) -> Option<Value> {
        let capacity = bytes.len().checked_mul(2)?;
        if !self.pool.fits(capacity + CARRIED) {
            return None;
        }
        let room = AppendRoom::new(capacity)?;
        let start = room.start;
        // SAFETY: it has twice as many, and is nobody else's.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.as_ptr(), bytes.len()) };
        let whole = self.foreign(Arc::new(room));
        if whole.is_none() {
            return Some(whole);
        }
        let at = in_place_of.unwrap_or_else(|| self.appending.place());
        self.appending.rooms[at] = Some(Growing {
            whole,
            start,
            used: bytes.len(),
            capacity,
        });
        Some(self.slice_of(whole, start.as_ptr(), bytes.len()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::heap::block::BlockPool;
    use proptest::prelude::*;

    fn joined(heap: &mut Heap, first: Value, more: &[u8]) -> Value {
        heap.append(first, more).unwrap_or_else(|| {
            let bytes = [first.as_binary().unwrap(), more].concat();
            heap.appended(first, bytes)
        })
    }

    /// A text that was appended to twice.
    fn growing(heap: &mut Heap, n: usize) -> Value {
        let first = heap.bytes(&vec![b'a'; n]);
        let second = joined(heap, first, b"b");
        joined(heap, second, b"c")
    }

    #[test]
    fn what_is_appended_again_and_again_is_copied_seldom() {
        let mut heap = Heap::new(Arc::new(BlockPool::default()));
        let mut text = growing(&mut heap, 1_000);
        let mut moved = 0;
        for i in 0..100_000usize {
            let longer = joined(&mut heap, text, &[i as u8]);
            moved += usize::from(longer.sliced() != text.sliced());
            text = longer;
        }
        let bytes = text.as_binary().unwrap();
        assert_eq!((bytes.len(), moved), (101_002, 6));
        assert!(bytes[1_002..]
            .iter()
            .enumerate()
            .all(|(i, b)| *b == i as u8));
    }

    #[test]
    fn a_text_stays_what_it_is_whatever_is_appended_to_it() {
        let mut heap = Heap::new(Arc::new(BlockPool::default()));
        let text = growing(&mut heap, 1_000);
        let before = text.as_binary().unwrap().to_vec();
        let [one, two] = [b"one", b"two"].map(|more| joined(&mut heap, text, more));
        assert_eq!(one.as_binary().unwrap(), [&before[..], b"one"].concat());
        assert_eq!(two.as_binary().unwrap(), [&before[..], b"two"].concat());
        assert_eq!(text.as_binary().unwrap(), before);
        assert!(one.sliced() == text.sliced() && two.sliced() != text.sliced());
    }

    #[test]
    fn nothing_has_room_in_another_turn() {
        let mut heap = Heap::new(Arc::new(BlockPool::default()));
        let mut position = heap.position();
        heap.advance(&mut position);
        let text = growing(&mut heap, 1_000);
        assert!(heap.append(text, b"x").is_some());
        let text = growing(&mut heap, 1_000);
        heap.advance(&mut position);
        assert!(heap.append(text, b"x").is_none());
        let again = joined(&mut heap, text, b"x");
        assert!(again.sliced().is_none(), "it is as long as it must be");
        let text = growing(&mut heap, 1_000);
        let position = heap.position();
        heap.rewind(&position);
        assert!(heap.append(text, b"x").is_none());
    }

    #[test]
    fn where_the_memory_has_no_room_there_is_none_behind_a_binary() {
        use crate::heap::block::BLOCK;
        use crate::heap::pace::Pace;
        let mut heap = Heap::new(Arc::new(BlockPool::new(4 * BLOCK, Pace::default())));
        let text = growing(&mut heap, BLOCK / 4 * 3);
        assert!(text.sliced().is_none() && !heap.exhausted());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 300 }))]

        /// Texts of which any may be appended to, the longer or the shorter ones.
        #[test]
        fn any_texts(steps in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..400), 1..40)) {
            let mut heap = Heap::new(Arc::new(BlockPool::default()));
            let mut texts = vec![(heap.bytes(b""), Vec::new())];
            for (n, (which, more)) in steps.into_iter().enumerate() {
                let (text, mut expected) = which.get(&texts).clone();
                let more = vec![n as u8; more];
                let longer = joined(&mut heap, text, &more);
                expected.extend(more);
                texts.push((longer, expected));
            }
            for (text, expected) in texts {
                prop_assert_eq!(text.as_binary().unwrap(), expected);
            }
        }
    }
}
