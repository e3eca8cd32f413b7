//! A hierarchical timer wheel: putting in, taking out and firing take the same time however many wait.
//!
//! Eight levels of 64 lists. A list of the lowest level holds what is due at one instant, one of the next level what
//! is due within 64 instants, and so on. An item lies at the level of the highest digit (to base 64) in which its due
//! time differs from the wheel's position; when the position enters the span of a list, the items move down. (Varghese
//! and Lauck, "Hashed and hierarchical timing wheels", SOSP 1987.)
//!
//! It knows nothing of clocks, threads or messages: instants are numbers, and its caller says how late it is.
//!
//! Invariants:
//! 1. `position` never falls, and no item that is still in the wheel is due before it.
//! 2. An item's list is the one that its due time and the position call for; so within a level only lists from the
//!    position's digit on are occupied, and all items of a level are due before all items of higher ones.
//! 3. Items due at the same instant leave in the order in which they came: lists are first in, first out, and a list
//!    moves down before anything can be put into the lists that it moves to.
const LEVELS: usize = 8;
const BITS: u32 = 6;
const LISTS: usize = 1 << BITS;
/// The last instant.
const END: u64 = (1 << (BITS * LEVELS as u32)) - 1;
const NONE: u32 = u32::MAX;
/// Room that is kept when nothing waits any more.
const ENTRIES_KEPT: usize = 1024;

#[derive(Clone, Copy)]
struct SlotList {
    first: u32,
    last: u32,
}

struct ArmedEntry<T> {
    /// `None` when the place is free; then `next` leads to the next free one.
    item: Option<T>,
    due: u64,
    before: u32,
    next: u32,
    list: u16,
}

/// Entries that wait for their times, in a hierarchy of lists.
pub(crate) struct Wheel<T> {
    position: u64,
    lists: Box<[SlotList; LEVELS * LISTS]>,
    /// For each level which of its lists are not empty.
    occupied: [u64; LEVELS],
    entries: Vec<ArmedEntry<T>>,
    free: u32,
    len: usize,
}

impl<T> Wheel<T> {
    /// Bytes that one takes.
    pub(crate) const ENTRY: usize = size_of::<ArmedEntry<T>>();

    pub(crate) fn new() -> Wheel<T> {
        let empty = SlotList {
            first: NONE,
            last: NONE,
        };
        Wheel {
            position: 0,
            lists: Box::new([empty; LEVELS * LISTS]),
            occupied: [0; LEVELS],
            entries: Vec::new(),
            free: NONE,
            len: 0,
        }
    }

    /// How many items wait.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds an item. Returns its place, which is its own until it leaves. An item that is already due leaves next.
    pub(crate) fn insert(&mut self, due: u64, item: T) -> u32 {
        let entry = ArmedEntry {
            item: Some(item),
            due: due.clamp(self.position, END),
            before: NONE,
            next: NONE,
            list: 0,
        };
        let place = self.free;
        let place = if place == NONE {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            self.free = self.entries[place as usize].next;
            self.entries[place as usize] = entry;
            place
        };
        self.len += 1;
        self.link(place);
        place
    }

    /// The item at a place.
    pub(crate) fn get(&self, place: u32) -> Option<&T> {
        self.entries.get(place as usize)?.item.as_ref()
    }

    /// Takes an item out before its time; gives it and when it is due.
    pub(crate) fn remove(&mut self, place: u32) -> Option<(u64, T)> {
        let entry = self.entries.get_mut(place as usize)?;
        let item = entry.item.take()?;
        let due = entry.due;
        self.unlink(place);
        self.forget(place);
        Some((due, item))
    }

    /// When to look again: no item is due before that instant, and if it is a list's that moves down, none may be due
    /// then either.
    pub(crate) fn next(&self) -> Option<u64> {
        self.first_list().map(|(_, _, from)| from)
    }

    /// Takes the next item that is due at `now`.
    pub(crate) fn pop(&mut self, now: u64) -> Option<(u64, T)> {
        let now = now.min(END);
        while let Some((level, list, from)) = self.first_list() {
            if from > now {
                break;
            }
            self.position = self.position.max(from);
            if level == 0 {
                return self.remove(self.lists[list].first);
            }
            self.move_down(list);
        }
        // Nothing is due until then, so no list's span is entered.
        self.position = self.position.max(now);
        None
    }

    /// Takes everything out, the earliest first.
    pub(crate) fn drain(&mut self) -> Vec<(u64, u32, T)> {
        let mut all: Vec<_> = Vec::with_capacity(self.len);
        while let Some((level, list, from)) = self.first_list() {
            self.position = self.position.max(from);
            if level > 0 {
                self.move_down(list);
                continue;
            }
            let place = self.lists[list].first;
            if let Some((due, item)) = self.remove(place) {
                all.push((due, place, item));
            }
        }
        all
    }

    /// Shows every item.
    pub(crate) fn each(&self, show: impl FnMut(&T)) {
        self.entries
            .iter()
            .filter_map(|entry| entry.item.as_ref())
            .for_each(show);
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

    /// Appends an entry to the list where it belongs.
    fn link(&mut self, place: u32) {
        let list = self.list_of(self.entries[place as usize].due);
        let last = std::mem::replace(&mut self.lists[list].last, place);
        let entry = &mut self.entries[place as usize];
        entry.list = list as u16;
        entry.before = last;
        entry.next = NONE;
        match last {
            NONE => self.lists[list].first = place,
            last => self.entries[last as usize].next = place,
        }
        self.occupied[list / LISTS] |= 1 << (list % LISTS);
    }

    fn unlink(&mut self, place: u32) {
        let ArmedEntry {
            before, next, list, ..
        } = self.entries[place as usize];
        let list = list as usize;
        match before {
            NONE => self.lists[list].first = next,
            before => self.entries[before as usize].next = next,
        }
        match next {
            NONE => self.lists[list].last = before,
            next => self.entries[next as usize].before = before,
        }
        if self.lists[list].first == NONE {
            self.occupied[list / LISTS] &= !(1 << (list % LISTS));
        }
    }

    /// The place is free again.
    fn forget(&mut self, place: u32) {
        self.entries[place as usize].next = self.free;
        self.free = place;
        self.len -= 1;
        if self.len == 0 && self.entries.capacity() > ENTRIES_KEPT {
            self.entries = Vec::new();
            self.free = NONE;
        }
    }

    /// The position has entered the span of a list: its items go to lower levels, in their order.
    fn move_down(&mut self, list: usize) {
        let mut place = std::mem::replace(&mut self.lists[list].first, NONE);
        self.lists[list].last = NONE;
        self.occupied[list / LISTS] &= !(1 << (list % LISTS));
        while place != NONE {
            let next = self.entries[place as usize].next;
            self.link(place);
            place = next;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Everything due until `now`, as it leaves.
    fn fired(wheel: &mut Wheel<usize>, now: u64) -> Vec<(u64, usize)> {
        std::iter::from_fn(|| wheel.pop(now)).collect()
    }

    #[test]
    fn items_leave_in_order_of_their_time_then_of_coming() {
        let mut wheel = Wheel::new();
        for (item, due) in [20, 10, 20, 5_000, 0, 300_000_000].into_iter().enumerate() {
            wheel.insert(due, item);
        }
        assert_eq!(fired(&mut wheel, 20), [(0, 4), (10, 1), (20, 0), (20, 2)]);
        assert_eq!(fired(&mut wheel, 4_999), []);
        assert_eq!(
            fired(&mut wheel, 300_000_000),
            [(5_000, 3), (300_000_000, 5)]
        );
        assert_eq!(wheel.next(), None);
    }

    #[test]
    fn the_next_look_is_never_too_late_and_comes_closer() {
        let mut wheel = Wheel::new();
        wheel.insert(1_000_000, 0);
        let mut looks = 0;
        while wheel.len() > 0 {
            let next = wheel.next().unwrap();
            assert!(next <= 1_000_000);
            wheel.pop(next);
            looks += 1;
        }
        assert!(looks <= LEVELS, "{looks} looks for one item");
    }

    #[test]
    fn what_is_late_or_never_due_is_kept_too() {
        let mut wheel = Wheel::new();
        assert_eq!(wheel.pop(500), None);
        wheel.insert(3, 1);
        wheel.insert(u64::MAX, 2);
        assert_eq!(fired(&mut wheel, 500), [(500, 1)]);
        assert_eq!(fired(&mut wheel, u64::MAX), [(END, 2)]);
        wheel.insert(0, 3);
        assert_eq!(fired(&mut wheel, END), [(END, 3)]);
    }

    #[test]
    fn a_stale_place_is_nobody_s() {
        let mut wheel = Wheel::new();
        let place = wheel.insert(5, 'a');
        assert_eq!(wheel.remove(place), Some((5, 'a')));
        assert_eq!(wheel.remove(place), None);
        assert_eq!(wheel.get(7), None);
    }

    #[test]
    fn room_is_given_back_when_nothing_waits() {
        let n = if cfg!(miri) { 1_100 } else { 100_000 };
        let mut wheel = Wheel::new();
        for item in 0..n {
            wheel.insert(item as u64 % 977, item);
        }
        assert_eq!(fired(&mut wheel, 1_000).len(), n);
        assert_eq!(wheel.entries.capacity(), 0);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u64),
        Remove(usize),
        Pass(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let delay = prop_oneof![0..3u64, 0..200u64, 0..20_000u64, 0..1u64 << 40];
        let step = prop_oneof![
            4 => delay.clone().prop_map(Step::Insert),
            2 => (0..64usize).prop_map(Step::Remove),
            2 => delay.prop_map(Step::Pass),
        ];
        let most = if cfg!(miri) { 20 } else { 200 };
        proptest::collection::vec(step, 0..most)
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 4 } else { 256 },
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// The wheel does what a sorted list does.
        #[test]
        fn it_is_a_sorted_list(steps in steps()) {
            let mut wheel = Wheel::new();
            let mut model: Vec<(u64, usize, u32)> = Vec::new();
            let mut now = 0;
            for (item, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Insert(delay) => {
                        let place = wheel.insert(now + delay, item);
                        model.push((now + delay, item, place));
                        model.sort();
                    }
                    Step::Remove(n) if !model.is_empty() => {
                        let (due, item, place) = model.remove(n % model.len());
                        prop_assert_eq!(wheel.remove(place), Some((due, item)));
                    }
                    Step::Remove(_) => {}
                    Step::Pass(time) => {
                        now = (now + time).min(END);
                        let due = model.partition_point(|(due, _, _)| *due <= now);
                        let expected: Vec<_> = model.drain(..due).map(|(due, item, _)| (due, item)).collect();
                        prop_assert_eq!(fired(&mut wheel, now), expected);
                    }
                }
                prop_assert_eq!(wheel.len(), model.len());
                if let Some((due, _, _)) = model.first() {
                    let next = wheel.next().unwrap();
                    prop_assert!(now <= next.max(now) && next <= *due);
                }
            }
            let left: Vec<_> = wheel.drain().into_iter().map(|(due, place, item)| (due, item, place)).collect();
            prop_assert_eq!(left, model);
        }
    }
}
