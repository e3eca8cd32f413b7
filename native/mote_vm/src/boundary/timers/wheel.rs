//! A hierarchical timer wheel: putting in, taking out and firing take the same time however many wait.
//!
//! Eight levels of 64 lists. A list of the lowest level holds what is due at one instant, one of the next level what
//! is due within 64 instants, and so on. An item lies at the level of the highest digit (to base 64) in which its due
//! time differs from the wheel's position; when the position enters the span of a list, the items move down. (Varghese
//! and Lauck, "Hashed and hierarchical timing wheels", SOSP 1987.)
//!
//! It knows nothing of clocks, threads or messages: instants are numbers, and its caller says how late it is.
//!
//! A list has the items' places, in the order in which they came, in chunks. So items move down without being looked at, and
//! those that fire together are fetched into the cache together; what they carry lies still. An item that is taken out before
//! its time leaves its place in the list. Such places are sorted out when most of a list is, or when it moves down.
//!
//! Invariants:
//! 1. `position` never falls, and no item that is still in the wheel is due before it.
//! 2. An item's list is the one that its due time and the position call for; so within a level only lists from the
//!    position's digit on are occupied, and all items of a level are due before all items of higher ones.
//! 3. Items due at the same instant leave in the order in which they came: lists are first in, first out, and a list
//!    moves down before anything can be put into the lists that it moves to.
//! 4. A list is occupied, and has chunks, exactly as long as items wait in it; and no more places in it are of items that
//!    are gone than wait there, but for one chunk.
use crate::platform::prefetch::prefetch;
use crate::platform::slab::Slab;

const LEVELS: usize = 8;
const BITS: u32 = 6;
const LISTS: usize = 1 << BITS;
/// The last instant.
const END: u64 = (1 << (BITS * LEVELS as u32)) - 1;
const NONE: u32 = u32::MAX;
/// Places in a chunk: 256 bytes with what else there is.
const CHUNK: usize = 14;

#[derive(Clone, Copy)]
struct SlotList {
    first: u32,
    last: u32,
    /// Number of its places whose items wait, and of those whose items are gone.
    waiting: u32,
    gone: u32,
}

impl SlotList {
    const EMPTY: SlotList = SlotList {
        first: NONE,
        last: NONE,
        waiting: 0,
        gone: 0,
    };
}

/// The place of an item.
#[derive(Clone, Copy, Default)]
struct ListedPlace {
    due: u64,
    place: u32,
    /// Tells an item from those that were there before.
    stamp: u32,
}

/// A part of a list. Those between `start` and `end` are still there.
struct ListChunk {
    places: [ListedPlace; CHUNK],
    next: u32,
    start: u16,
    end: u16,
}

struct ArmedEntry<T> {
    item: T,
    due: u64,
}

/// Entries that wait for their times, in a hierarchy of lists.
pub(crate) struct Wheel<T> {
    position: u64,
    lists: Box<[SlotList; LEVELS * LISTS]>,
    /// Bits of each level's lists that are not empty.
    occupied: [u64; LEVELS],
    entries: Slab<ArmedEntry<T>>,
    chunks: Slab<ListChunk>,
}

impl<T> Wheel<T> {
    /// Bytes that one takes, with one more place in a list: that of an item that is gone (invariant 4).
    pub(crate) const ENTRY: usize = Slab::<ArmedEntry<T>>::PLACE + 2 * size_of::<ListedPlace>();
    /// Bytes of one that hardly anything waits in.
    pub(crate) const EMPTY: usize = size_of::<[SlotList; LEVELS * LISTS]>()
        + Slab::<ArmedEntry<T>>::FIRST
        + Slab::<ListChunk>::FIRST;

    pub(crate) fn new() -> Wheel<T> {
        Wheel {
            position: 0,
            lists: Box::new([SlotList::EMPTY; LEVELS * LISTS]),
            occupied: [0; LEVELS],
            entries: Slab::new(),
            chunks: Slab::new(),
        }
    }

    /// Returns the number of items that wait.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes that it takes beyond [`Wheel::EMPTY`].
    pub(crate) fn bytes(&self) -> usize {
        self.entries.bytes() + self.chunks.bytes()
    }

    /// Adds an item. Returns its place, which is its own until it leaves. An item that is already due leaves next.
    pub(crate) fn insert(&mut self, due: u64, item: T) -> u32 {
        let due = due.clamp(self.position, END);
        let (place, stamp) = self.entries.insert(ArmedEntry { item, due });
        self.append(ListedPlace { due, place, stamp });
        place
    }

    /// The item at a place.
    pub(crate) fn get(&self, place: u32) -> Option<&T> {
        Some(&self.entries.get(place)?.item)
    }

    /// Takes an item out before its time. Returns it, and when it is due.
    pub(crate) fn remove(&mut self, place: u32) -> Option<(u64, T)> {
        let ArmedEntry { item, due } = self.entries.remove(place)?;
        let list = self.list_of(due);
        let SlotList { waiting, gone, .. } = &mut self.lists[list];
        *waiting -= 1;
        *gone += 1;
        if *waiting == 0 {
            self.let_go(list);
        } else if *gone > *waiting + CHUNK as u32 {
            self.sort_again(list);
        }
        Some((due, item))
    }

    /// Returns when to look again. No item is due before that instant, and if a list moves down then, perhaps none is due then
    /// either.
    pub(crate) fn next(&self) -> Option<u64> {
        self.first_list().map(|(_, _, from)| from)
    }

    /// Takes the next item that is due at `now`: when it was due, its place, and itself.
    pub(crate) fn pop(&mut self, now: u64) -> Option<(u64, u32, T)> {
        let now = now.min(END);
        while let Some((level, list, from)) = self.first_list() {
            if from > now {
                break;
            }
            self.position = self.position.max(from);
            if level == 0 {
                return self.shift(list);
            }
            self.sort_again(list);
        }
        // Nothing is due until then, so no list's span is entered.
        self.position = self.position.max(now);
        None
    }

    /// Shows every item.
    pub(crate) fn each(&self, mut show: impl FnMut(&T)) {
        self.entries.each(|entry| show(&entry.item));
    }

    /// Shows every item with the instant at which it is due.
    pub(crate) fn each_due(&self, mut show: impl FnMut(u64, &T)) {
        self.entries.each(|entry| show(entry.due, &entry.item));
    }

    /// Shows the items of the next `most` places from that place on, with the instants at which they are due. Returns the place to go
    /// on with, if there is more.
    pub(crate) fn part(
        &self,
        from: u32,
        most: usize,
        mut show: impl FnMut(u64, &T),
    ) -> Option<u32> {
        let show = |entry: &ArmedEntry<T>| show(entry.due, &entry.item);
        self.entries.part(from, most, show)
    }

    /// A walk through all items begins (slab.rs).
    pub(crate) fn begin_walk(&mut self) {
        self.entries.begin_walk();
    }

    /// Walks on, through `most` places at most. Returns whether there are more.
    pub(crate) fn walk(&mut self, most: usize, mut show: impl FnMut(&T)) -> bool {
        self.entries.walk(most, |entry| show(&entry.item))
    }

    /// Returns whether the walk is not over.
    pub(crate) fn is_walked(&self) -> bool {
        self.entries.is_walked()
    }

    /// Returns whether the walk has still to come to a place.
    #[inline(always)]
    pub(crate) fn is_ahead(&self, place: u32) -> bool {
        self.entries.is_ahead(place)
    }

    /// Level and number of the first list that is not empty, and the first instant of its span.
    fn first_list(&self) -> Option<(usize, usize, u64)> {
        let level = self.occupied.iter().position(|lists| *lists != 0)?;
        // Invariant 2: none before the position's digit.
        let number = self.occupied[level].trailing_zeros();
        let shift = BITS * level as u32;
        let above = self.position >> (shift + BITS) << (shift + BITS);
        let from = above | u64::from(number) << shift;
        Some((level, level * LISTS + number as usize, from))
    }

    fn list_of(&self, due: u64) -> usize {
        let highest = 63 - ((self.position ^ due) | 1).leading_zeros();
        let level = (highest / BITS) as usize;
        level * LISTS + (due >> (BITS * level as u32)) as usize % LISTS
    }

    /// Appends a place to the list where it belongs.
    fn append(&mut self, listed: ListedPlace) {
        let list = self.list_of(listed.due);
        let last = self.lists[list].last;
        let room = |chunk: &&mut ListChunk| (chunk.end as usize) < CHUNK;
        let chunk = match self.chunks.get_mut(last).filter(room) {
            Some(chunk) => chunk,
            None => self.extend(list),
        };
        chunk.places[chunk.end as usize] = listed;
        chunk.end += 1;
        self.lists[list].waiting += 1;
    }

    /// Gives a list one more chunk.
    fn extend(&mut self, list: usize) -> &mut ListChunk {
        let chunk = self.empty_chunk();
        let SlotList { first, last, .. } = &mut self.lists[list];
        match std::mem::replace(last, chunk) {
            NONE => *first = chunk,
            last => self.chunk(last).next = chunk,
        }
        self.occupied[list / LISTS] |= 1 << (list % LISTS);
        self.chunk(chunk)
    }

    fn empty_chunk(&mut self) -> u32 {
        let chunk = ListChunk {
            places: [ListedPlace::default(); CHUNK],
            next: NONE,
            start: 0,
            end: 0,
        };
        self.chunks.insert(chunk).0
    }

    /// The chunk of that number, which is in a list.
    #[inline(always)]
    fn chunk(&mut self, number: u32) -> &mut ListChunk {
        match self.chunks.get_mut(number) {
            Some(chunk) => chunk,
            None => unreachable!("a list leads to its chunks"),
        }
    }

    /// Takes the first item out of a list of the lowest level: when it is due, its place, and itself.
    fn shift(&mut self, list: usize) -> Option<(u64, u32, T)> {
        loop {
            let number = self.lists[list].first;
            let chunk = self.chunks.get_mut(number)?;
            if chunk.start == 0 {
                // They are about to leave as well.
                for listed in &chunk.places[..chunk.end as usize] {
                    prefetch(self.entries.address(listed.place));
                }
            }
            let listed = chunk.places[chunk.start as usize];
            chunk.start += 1;
            if chunk.start == chunk.end && number != self.lists[list].last {
                self.lists[list].first = chunk.next;
                self.chunks.remove(number);
            }
            if !self.waits(listed) {
                self.lists[list].gone -= 1;
                continue;
            }
            let ArmedEntry { item, .. } = self.entries.remove(listed.place)?;
            self.lists[list].waiting -= 1;
            if self.lists[list].waiting == 0 {
                self.let_go(list);
            }
            return Some((listed.due, listed.place, item));
        }
    }

    /// Returns whether the item of a listed place is still there.
    fn waits(&self, listed: ListedPlace) -> bool {
        let here = self.entries.get(listed.place);
        self.entries.stamp(listed.place) == Some(listed.stamp)
            && here.is_some_and(|entry| entry.due == listed.due)
    }

    /// Puts the items of a list where they belong, in their order: the position has entered its span, and they go to lower
    /// levels; or most of its places are of items that are gone.
    fn sort_again(&mut self, list: usize) {
        let SlotList { first, gone, .. } = self.empty(list);
        let mut number = first;
        // Taken out first: what is put in anew has the room.
        while let Some(chunk) = self.chunks.remove(number) {
            for listed in &chunk.places[chunk.start as usize..chunk.end as usize] {
                if gone == 0 || self.waits(*listed) {
                    self.append(*listed);
                }
            }
            number = chunk.next;
        }
    }

    /// Lets go of the chunks of a list in which nothing waits any more.
    fn let_go(&mut self, list: usize) {
        let mut number = self.empty(list).first;
        while let Some(chunk) = self.chunks.remove(number) {
            number = chunk.next;
        }
    }

    /// Empties a list, and returns it as it was.
    fn empty(&mut self, list: usize) -> SlotList {
        self.occupied[list / LISTS] &= !(1 << (list % LISTS));
        std::mem::replace(&mut self.lists[list], SlotList::EMPTY)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
