//! Many messages from outside for one sponsor, in one piece: one lock, one decision whether to wake, one row of words.
//!
//! Invariant: the actors that the messages are for, and those in them, are held until the batch is in an inbox.
use crate::base::sync::Mutex;
use crate::boundary::parcel::{self, Builder, MadeOnce, Parcel};
use crate::heap::Heap;
use crate::values::actor::SponsorId;
use crate::values::handles::{Handles, Held, HeldMany, Key, Target};
use crate::values::value::Value;
use std::ops::Range;
use std::sync::Arc;

/// A buffer that batches are written on. It is reused, because allocating and freeing as much for each batch costs more than
/// writing on it, and even more when another thread frees it.
#[derive(Default)]
pub(crate) struct BatchBuffer {
    words: Vec<Value>,
    /// End of each message.
    ends: Vec<u32>,
}

/// Number of buffers that are kept, and most words on each.
const PAPERS: usize = 4;
const BUFFER_WORDS: usize = 8 << 10;

/// Buffers without anything in them.
#[derive(Default)]
pub(crate) struct BatchBuffers(Mutex<Vec<BatchBuffer>>);

impl BatchBuffers {
    fn take(&self) -> BatchBuffer {
        self.0.lock().pop().unwrap_or_default()
    }

    /// Keeps it, unless there is enough.
    pub(crate) fn give(&self, mut buffer: BatchBuffer) {
        buffer.words.clear();
        buffer.ends.clear();
        if buffer.words.capacity() <= BUFFER_WORDS && buffer.ends.capacity() <= BUFFER_WORDS {
            let mut batch_buffers = self.0.lock();
            if batch_buffers.len() < PAPERS {
                batch_buffers.push(buffer);
            }
        }
    }

    /// Returns all of it.
    pub(crate) fn clear(&self) {
        let batch_buffers = std::mem::take(&mut *self.0.lock());
        drop(batch_buffers);
    }
}

/// The messages that are written, each for one actor, in their order. What they say is in a [`Builder`].
#[derive(Default)]
pub struct BatchLetters {
    ends: Vec<u32>,
    /// The actors in their order, each with the number of its first message.
    targets: Vec<(Target, usize)>,
    held: Vec<Held>,
    /// Actors that were looked up before it is known that anything is for them.
    ahead: HeldMany,
}

impl BatchLetters {
    /// Returns an empty batch, and what to write the first message with.
    pub(crate) fn on(batch_buffers: &BatchBuffers) -> (BatchLetters, Builder) {
        let BatchBuffer { words, ends } = batch_buffers.take();
        let letters = BatchLetters {
            ends,
            ..BatchLetters::default()
        };
        (letters, Builder::written_on(words))
    }

    /// Addresses everything that is written from here on to `target`.
    pub fn address(&mut self, target: Held) {
        self.targets.push((Target(target.actor), self.len()));
        self.held.push(target);
    }

    /// Looks up the actors of some keys. Returns where they are among those that it has looked up: none of a key without an actor, nor
    /// of those behind it.
    pub(crate) fn look_up(&mut self, handles: &Arc<Handles>, keys: &[Key]) -> Range<usize> {
        let from = self.ahead.len();
        handles.hold_each(keys, &mut self.ahead);
        from..self.ahead.len()
    }

    /// Addresses everything that is written from here on to an actor that it has looked up, if that `suits`, whose pin that is shown.
    /// Returns whether it does.
    pub(crate) fn address_at(
        &mut self,
        at: usize,
        suits: impl FnOnce(Option<SponsorId>) -> bool,
    ) -> bool {
        let found = self.ahead.get(at).filter(|(_, pinned)| suits(*pinned));
        if let Some((actor, _)) = found {
            self.targets.push((Target(actor), self.len()));
        }
        found.is_some()
    }

    /// A message ends, for the actor addressed last; without one it belongs to the next.
    #[inline]
    pub fn end(&mut self, builder: &Builder) {
        if !self.targets.is_empty() {
            self.ends.push(builder.len() as u32);
        }
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Puts them together with what they say.
    pub fn seal(self, builder: Builder) -> Box<Batch> {
        let (words, contents) = builder.open();
        Box::new(Batch {
            letters: self,
            words,
            contents,
        })
    }
}

/// Messages that enter a sponsor together.
pub struct Batch {
    letters: BatchLetters,
    words: Vec<Value>,
    /// Contents that go with the words.
    contents: Parcel,
}

impl Batch {
    /// Returns the number of messages.
    pub(crate) fn len(&self) -> usize {
        self.letters.len()
    }

    /// Bytes that it holds outside of any heap, and will take in one. Those of messages that are forgotten count as long as
    /// it has them.
    pub(crate) fn bytes(&self) -> usize {
        let BatchLetters { ends, targets, .. } = &self.letters;
        let words = 2 * size_of_val(self.words.as_slice());
        size_of_val(ends.as_slice())
            + size_of_val(targets.as_slice())
            + words
            + self.external_bytes()
    }

    /// Returns the part of these bytes that foreign values keep.
    pub(crate) fn external_bytes(&self) -> usize {
        self.contents.external_bytes()
    }

    /// Forgets all but the first `n`.
    pub(crate) fn truncate(&mut self, n: usize) {
        self.letters.ends.truncate(n);
    }

    /// Returns whether all actors in it are of the machine of these handles.
    pub(crate) fn is_for(&self, handles: &Arc<Handles>) -> bool {
        let BatchLetters { held, ahead, .. } = &self.letters;
        self.contents.is_for(handles)
            && held.iter().all(|held| held.is_of(handles))
            && ahead.is_for(handles)
    }

    /// Takes out what it holds: to be dropped when the batch is an inbox's.
    pub(crate) fn take_held(&mut self) -> ([Vec<Held>; 2], HeldMany) {
        let held = std::mem::take(&mut self.letters.held);
        let ahead = std::mem::take(&mut self.letters.ahead);
        ([held, self.contents.take_held()], ahead)
    }

    /// Shows the target of each message.
    pub(crate) fn each_target(&self, mut show: impl FnMut(Target)) {
        each(&self.letters.ends, &self.letters.targets, |target, _| {
            show(target)
        });
    }

    /// Shows every address in the messages.
    pub(crate) fn each_address(&self, show: impl FnMut(Value)) {
        parcel::each_address(&self.words, show);
    }

    /// Makes the messages in `heap`, and keeps the batch.
    pub(crate) fn copy(&self, heap: &mut Heap, mut show: impl FnMut(Target, Value)) {
        let foreigns = |at: usize| self.contents.foreigns().get(at).cloned();
        let (mut once, mut scratch) = (MadeOnce::default(), Vec::new());
        let BatchLetters { ends, targets, .. } = &self.letters;
        each(ends, targets, |target, at| {
            let words = &self.words;
            let made = parcel::unpack(words, at, foreigns, &[], &mut once, heap, &mut scratch);
            show(target, made);
        });
    }

    /// Splits the batch into one parcel for each message.
    pub(crate) fn split(self) -> Vec<(Target, Parcel)> {
        let foreigns = self.contents.into_foreigns();
        let mut parts = Vec::new();
        each(&self.letters.ends, &self.letters.targets, |target, at| {
            let words = parcel::expand(&self.words, at);
            parts.push((target, Parcel::new(words, foreigns.clone())));
        });
        parts
    }

    /// Divides the batch by what `of` says of the actor of each message, of which it holds nothing any more. The messages of each part are in
    /// their order.
    pub(crate) fn divide(self, of: impl Fn(Target) -> u16) -> Vec<(u16, Box<Batch>)> {
        let mut parts: Vec<(u16, BatchLetters, Vec<Value>)> = Vec::new();
        each(&self.letters.ends, &self.letters.targets, |target, at| {
            let number = of(target);
            let found = parts.iter().position(|(n, ..)| *n == number);
            let part = found.unwrap_or_else(|| {
                parts.push((number, BatchLetters::default(), Vec::new()));
                parts.len() - 1
            });
            let (_, letters, words) = &mut parts[part];
            words.extend(parcel::expand(&self.words, at));
            letters.targets.push((target, letters.len()));
            letters.ends.push(words.len() as u32);
        });
        let foreigns = self.contents.into_foreigns();
        let batch = |(number, letters, words): (u16, BatchLetters, Vec<Value>)| {
            let contents = Parcel::beside(&words, foreigns.clone());
            let batch = Batch {
                letters,
                words,
                contents,
            };
            (number, Box::new(batch))
        };
        parts.into_iter().map(batch).collect()
    }

    /// Makes the messages in `heap`, one after the other; what does not fit is `None`. What they were written on is left.
    pub(crate) fn unpack(
        self,
        heap: &mut Heap,
        scratch: &mut Vec<Value>,
        mut put_in: impl FnMut(Target, Option<Value>),
    ) -> BatchBuffer {
        let BatchLetters { ends, targets, .. } = self.letters;
        let words = self.words;
        let foreigns = self.contents.into_foreigns();
        let foreigns = |at: usize| foreigns.get(at).cloned();
        let mut once = MadeOnce::default();
        each(&ends, &targets, |target, at| {
            let position = heap.position();
            let made = parcel::unpack(&words, at, foreigns, &[], &mut once, heap, scratch);
            if made.is_none() {
                heap.rewind(&position);
                once.clear();
                put_in(target, None);
            } else {
                put_in(target, Some(made));
            }
        });
        BatchBuffer { words, ends }
    }
}

/// Shows for each message its actor, and where it is in the words.
fn each(ends: &[u32], targets: &[(Target, usize)], mut show: impl FnMut(Target, Range<usize>)) {
    let mut from = 0;
    for (i, (target, first)) in targets.iter().enumerate() {
        let next = targets.get(i + 1).map_or(ends.len(), |(_, first)| *first);
        for end in ends.iter().take(next).skip(*first) {
            let end = *end as usize;
            show(*target, from..end);
            from = end;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::heap::block::BlockPool;
    use crate::values::actor::Actor;

    /// Not to be looked at.
    fn actor(n: usize) -> *const Actor {
        (16 * n) as *const Actor
    }

    /// A batch of `{n}`, each for the actor of that number; what comes before the first one is for nobody.
    fn batch(batch_buffers: &BatchBuffers, targets: &[usize]) -> Box<Batch> {
        let handles = Arc::new(Handles::default());
        let (mut letters, mut builder) = BatchLetters::on(batch_buffers);
        letters.end(&builder);
        let mut last = None;
        for &n in targets {
            if last != Some(n) {
                let key = handles.acquire(actor(n), None);
                letters.address(handles.hold(key).expect("held"));
                last = Some(n);
            }
            builder.tuple(1);
            assert!(builder.integer(n as i64));
            letters.end(&builder);
        }
        letters.seal(builder)
    }

    fn heap() -> Heap {
        Heap::new(Arc::new(BlockPool::default()))
    }

    #[test]
    fn each_message_is_for_the_actor_addressed_last() {
        let targets = [3, 3, 1, 2, 2, 2, 1];
        for accepted in [targets.len(), 4, 2, 1] {
            let batch_buffers = BatchBuffers::default();
            let mut shown = Vec::new();
            let batch = || {
                let mut batch = batch(&batch_buffers, &targets);
                batch.truncate(accepted);
                batch
            };
            batch().each_target(|target| shown.push(target.0));
            let expected = targets[..accepted].iter();
            assert!(shown.into_iter().eq(expected.clone().map(|n| actor(*n))));
            let mut heap = heap();
            let mut got = Vec::new();
            batch().unpack(&mut heap, &mut Vec::new(), |target, message| {
                let elements = message.and_then(Value::as_tuple).expect("room");
                got.push((target.0, elements[0]));
            });
            let value = |n: &usize| (actor(*n), Value::fixnum(*n as i64));
            assert!(got.into_iter().eq(expected.clone().map(value)));
            let apart = batch().split().into_iter().map(|(target, parcel)| {
                let message = parcel.unpack(&mut heap, &mut Vec::new());
                (target.0, message.as_tuple().expect("room")[0])
            });
            assert!(apart.eq(expected.map(value)));
        }
    }

    #[test]
    fn paper_is_written_on_again_and_little_is_kept() {
        let (batch_buffers, mut heap) = (BatchBuffers::default(), heap());
        let mut used = |n: usize| {
            let batch = batch(&batch_buffers, &vec![1; n]);
            let place = batch.words.as_ptr();
            batch_buffers.give(batch.unpack(&mut heap, &mut Vec::new(), |_, _| ()));
            place
        };
        let place = used(1_000);
        assert_eq!(used(1), place);
        assert_eq!(used(1_000), place);
        used(BUFFER_WORDS + 1);
        assert_eq!(batch_buffers.0.lock().len(), 0);
        for _ in 0..2 * PAPERS {
            let words = Vec::with_capacity(8);
            batch_buffers.give(BatchBuffer {
                words,
                ..BatchBuffer::default()
            });
        }
        assert_eq!(batch_buffers.0.lock().len(), PAPERS);
        batch_buffers.clear();
        assert_eq!(batch_buffers.0.lock().len(), 0);
    }
}
