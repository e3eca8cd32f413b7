//! Bits that are being put together.
use crate::base::work::{Over, Work, COPIED};
use crate::heap::Heap;
use crate::values::bits::Bits;
use crate::values::value::Value;
use smallvec::SmallVec;

/// Bytes that are copied in one go.
const COPIED_AT_ONCE: usize = 1 << 16;

/// Consecutive bits, of which the last byte may not be full.
#[derive(Default)]
pub(super) struct BitString {
    /// Most are few: they are allocated once, in the heap.
    pub(super) bytes: SmallVec<[u8; 64]>,
    /// Bits in use of the last byte; 0 when it is full.
    pub(super) over: usize,
    /// Elements that are paid for.
    paid: usize,
}

impl BitString {
    /// The lowest `bits` of a number, the highest first.
    fn push(&mut self, n: u64, bits: usize) {
        let mut left = bits;
        while left > 0 {
            let room = 8 - self.over;
            let taken = room.min(left);
            left -= taken;
            let part = (n >> left) as u8 & (0xFFu16 >> (8 - taken)) as u8;
            let part = part << (room - taken);
            match self.over {
                0 => self.bytes.push(part),
                _ => *self.bytes.last_mut().expect("it is in use") |= part,
            }
            self.over = (self.over + taken) % 8;
        }
    }

    pub(super) fn number(&mut self, n: u64, bits: usize, little: bool) {
        if !little {
            return self.push(n, bits);
        }
        let whole = bits / 8;
        for i in 0..whole {
            self.push(n >> (8 * i), 8);
        }
        if !bits.is_multiple_of(8) {
            self.push(n >> (8 * whole), bits % 8);
        }
    }

    /// Pays for what is there, and for `more` bytes more.
    pub(super) fn pay_for(&mut self, more: usize, work: &mut Work) -> Result<(), Over> {
        // What was refused for memory is paid for, and not there.
        let elements = self.paid.max((self.bytes.len() + more) / COPIED);
        work.count(elements - self.paid)?;
        self.paid = elements;
        Ok(())
    }

    /// Makes a binary, or a bitstring.
    pub(super) fn made(self, heap: &mut Heap) -> Value {
        let over = self.over;
        let bytes = match self.bytes.spilled() {
            true => heap.owned_bytes(self.bytes.into_vec()),
            false => heap.bytes(&self.bytes),
        };
        without_unused(heap, bytes, over)
    }

    /// Makes a binary of bytes that begin with those of `first`.
    pub(super) fn appended(self, heap: &mut Heap, first: Value) -> Value {
        match self.over == 0 && self.bytes.spilled() {
            true => heap.appended(first, self.bytes.into_vec()),
            false => self.made(heap),
        }
    }

    /// Bits of at most [`COPIED_AT_ONCE`] bytes.
    fn extend_bits(&mut self, bits: Bits<'_>) {
        let full = bits.len() / 8 * 8;
        self.extend(&bits.part(0..full).padded());
        let rest = bits.part(full..bits.len());
        self.push(rest.number(), rest.len());
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        let Some((last, first)) = self.bytes.last_mut().zip(bytes.first()) else {
            return self.bytes.extend_from_slice(bytes);
        };
        match self.over {
            0 => self.bytes.extend_from_slice(bytes),
            // Each byte ends what the one before has begun.
            over => {
                let shift = 8 - over;
                *last |= first >> over;
                let between = bytes.windows(2).map(|two| two[0] << shift | two[1] >> over);
                self.bytes.extend(between);
                self.bytes.push(bytes[bytes.len() - 1] << shift);
            }
        }
    }
}

/// A bitstring of bytes of which the last has `over` bits, or all if that is 0.
pub(super) fn without_unused(heap: &mut Heap, bytes: Value, over: usize) -> Value {
    match over {
        0 => bytes,
        over => heap.bitstring(bytes, 0, 8 - over),
    }
}

/// Copies bits; pays for them before. Doubling a binary again and again ends at the quota, before it is
/// done.
pub(super) fn copy(heap: &mut Heap, bits: &mut BitString, more: Bits<'_>) -> Option<()> {
    let bytes = more.bytes();
    bits.pay_for(bytes, &mut heap.work).ok()?;
    if !heap.fits(bits.bytes.len() + bytes) {
        return None;
    }
    for from in (0..more.len()).step_by(8 * COPIED_AT_ONCE) {
        let some = from..more.len().min(from + 8 * COPIED_AT_ONCE);
        heap.work.pass(some.len() / 8 / COPIED).ok()?;
        bits.extend_bits(more.part(some));
    }
    Some(())
}
