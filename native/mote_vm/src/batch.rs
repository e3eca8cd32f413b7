//! Many messages from outside for one sponsor, in one piece: one lock, one look whether to wake, one row of words.
//!
//! Invariant: the actors that the messages are for, and those in them, are held until the batch is in an inbox.
use crate::handles::{Handles, Held};
use crate::heap::Heap;
use crate::inbox::Target;
use crate::parcel::{self, Builder, Parcel};
use crate::value::Value;
use std::sync::Arc;

/// The messages that were written, each for one actor, in their order. What they say is in a [`Builder`].
#[derive(Default)]
pub struct Letters {
    letters: Vec<(Target, usize)>,
    targets: Vec<Held>,
}

impl Letters {
    /// What is written from here on is for that actor.
    pub fn address(&mut self, target: Held) {
        self.targets.push(target);
    }

    /// A message ends, for the actor addressed last; without one it belongs to the next.
    pub fn end(&mut self, builder: &Builder) {
        if let Some(target) = self.targets.last() {
            self.letters.push((Target(target.actor), builder.len()));
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.letters.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// Puts them together with what they say.
    pub fn seal(self, builder: Builder) -> Box<Batch> {
        Box::new(Batch {
            letters: self.letters,
            targets: self.targets,
            contents: builder.finish(),
        })
    }
}

/// See the head of this file.
pub struct Batch {
    letters: Vec<(Target, usize)>,
    targets: Vec<Held>,
    contents: Parcel,
}

impl Batch {
    /// How many messages.
    pub(crate) fn len(&self) -> usize {
        self.letters.len()
    }

    /// Bytes that it holds outside of any heap.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.letters.as_slice()) + self.contents.bytes()
    }

    /// Forgets all but the first `n`.
    pub(crate) fn truncate(&mut self, n: usize) {
        self.letters.truncate(n);
    }

    /// Whether all actors in it are of the machine of these handles.
    pub(crate) fn is_for(&self, handles: &Arc<Handles>) -> bool {
        self.contents.is_for(handles) && self.targets.iter().all(|held| held.is_of(handles))
    }

    /// What it holds: to be dropped when the batch is an inbox's.
    pub(crate) fn take_held(&mut self) -> [Vec<Held>; 2] {
        [std::mem::take(&mut self.targets), self.contents.take_held()]
    }

    /// Shows every target.
    pub(crate) fn each_target(&self, show: impl FnMut(Target)) {
        self.letters
            .iter()
            .map(|(target, _)| *target)
            .for_each(show);
    }

    /// Shows every address in the messages.
    pub(crate) fn each_address(&self, show: impl FnMut(Value)) {
        self.contents.each_address(show);
    }

    /// Each message by itself.
    pub(crate) fn split(self) -> Vec<(Target, Parcel)> {
        let (words, foreigns) = self.contents.open();
        let mut from = 0;
        let part = |(target, end)| {
            let words = words[std::mem::replace(&mut from, end)..end].to_vec();
            (target, Parcel::new(words, foreigns.clone()))
        };
        self.letters.into_iter().map(part).collect()
    }

    /// Makes the messages in `heap`, one after the other; what does not fit is `None`.
    pub(crate) fn unpack(
        self,
        heap: &mut Heap,
        scratch: &mut Vec<Value>,
        mut deliver: impl FnMut(Target, Option<Value>),
    ) {
        let (words, mut foreigns) = self.contents.open();
        let mut from = 0;
        for (target, end) in self.letters {
            let mark = heap.mark();
            let made = parcel::unpack(&words[from..end], &mut foreigns, heap, scratch);
            from = end;
            if made.is_none() {
                heap.rewind(mark);
                deliver(target, None);
            } else {
                deliver(target, Some(made));
            }
        }
    }
}
