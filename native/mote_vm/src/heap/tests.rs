//! Both spaces of a heap under any mix of what allocators and collections do: nothing that lives is given twice or overwritten,
//! and cells and actors keep to blocks of their own.
use super::block::{Block, BlockPool, BLOCK, GRANULE, PAYLOAD};
use super::marks::{following, mark, FIRST, GRANULES};
use super::residents::Residents;
use super::space::{ACTORS, CELLS};
use super::young::{is_old, Changed};
use super::{Heap, LEAST_WIDE};
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;

/// Steps done with a heap.
#[derive(Clone, Debug)]
enum Step {
    /// A number of cells, and the granules of each.
    Cells(usize, usize),
    /// A number of actors, and how many of them are consecutive.
    Actors(usize, usize),
    /// A turn makes as many of both, and forgets them.
    Forget(usize),
    /// One of this many actors becomes another.
    Change(usize),
    /// A collection keeps one of this many, and those made while it marks; a young one also all that is old.
    Collect(usize, usize, bool),
}

/// A cell or an actor.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Thing {
    start: *mut u64,
    granules: usize,
    is_actor: bool,
    /// A collection has found it; since then it has become another.
    is_old: bool,
    is_changed: bool,
}

impl Thing {
    /// Fills it with what no other thing has.
    fn write(self) {
        for word in 0..2 * self.granules {
            // SAFETY: it has two words for each granule.
            unsafe { self.start.add(word).write(self.start as u64) };
        }
    }

    fn is_whole(self) -> bool {
        // SAFETY: as above.
        (0..2 * self.granules).all(|word| unsafe { *self.start.add(word) } == self.start as u64)
    }
}

struct Modelled {
    heap: Heap,
    pool: Arc<BlockPool>,
    live: Vec<Thing>,
    collections: u64,
}

impl Modelled {
    fn new() -> Modelled {
        let pool = Arc::new(BlockPool::default());
        Modelled {
            heap: Heap::new(pool.clone()),
            pool,
            live: Vec::new(),
            collections: 0,
        }
    }

    fn cells(&mut self, count: usize, granules: usize) {
        for _ in 0..count {
            let start = self.heap.allocate(granules).unwrap().as_ptr();
            self.made(start, granules, false);
        }
    }

    fn actors(&mut self, count: usize, together: usize) {
        for _ in 0..count {
            let first = self.heap.allocate_actors(together).unwrap().as_ptr();
            // SAFETY: that many granules were made there.
            (0..together).for_each(|i| self.made(unsafe { first.add(2 * i) }, 1, true));
        }
    }

    fn made(&mut self, start: *mut u64, granules: usize, is_actor: bool) {
        let thing = Thing {
            start,
            granules,
            is_actor,
            is_old: false,
            is_changed: false,
        };
        thing.write();
        self.live.push(thing);
    }

    fn collect(&mut self, one_of: usize, meanwhile: usize, young: bool) {
        let residents = Residents::of(self.collections, [&self.heap].into_iter());
        let number = following(self.collections, young);
        let young = young && self.collections > 0;
        self.collections = number;
        self.heap.start_marking(number);
        if young {
            self.check_changed(residents);
        }
        let mut n = 0;
        self.live.retain(|thing| {
            n += 1;
            let stays = young && thing.is_old;
            // Neighbours live and die together, now and then.
            let lives = stays || n / (1 + n % 3) % one_of == 0;
            if lives {
                // Nothing is marked but what is old, and has not changed.
                let is_first = mark(thing.start.cast(), thing.granules, number);
                assert_eq!(is_first, !stays || thing.is_changed);
                assert_eq!(
                    is_first && is_old(thing.start.cast(), number),
                    young && thing.is_changed
                );
            }
            lives
        });
        self.cells(meanwhile, 3);
        self.actors(meanwhile, 1);
        self.step(&Step::Forget(meanwhile));
        self.actors(meanwhile / 8, 5);
        self.step(&Step::Forget(meanwhile / 2));
        drop(self.heap.sweep());
        self.heap.spoil();
        for thing in &mut self.live {
            (thing.is_old, thing.is_changed) = (true, false);
        }
        self.check_residents();
    }

    /// The walk of a young collection comes to every old actor that has become another, and to no other.
    fn check_changed(&self, residents: Residents) {
        let mut walk = Changed::new(Arc::new(residents), self.collections);
        let mut found = Vec::new();
        while walk.take(7, |actor| found.push(actor.cast_mut().cast())) {}
        let changed = self.live.iter().filter(|thing| thing.is_changed);
        let mut changed: Vec<_> = changed.map(|thing| thing.start).collect();
        found.sort_unstable();
        changed.sort_unstable();
        assert!(found == changed, "{} of {}", found.len(), changed.len());
    }

    /// The walk through the marks comes to every actor that lives, and to nothing else that is not buried.
    fn check_residents(&self) {
        let residents = Residents::of(self.collections, [&self.heap].into_iter());
        let (mut found, mut from) = (Vec::new(), 0);
        while let Some(slice) = residents.slice_from(from) {
            let mut narrowed = slice;
            residents.narrow(&mut narrowed);
            assert_eq!(slice, narrowed);
            from = slice.end();
            found.extend(slice.actors().map(|(_, actor)| actor.cast_mut().cast()));
        }
        // SAFETY: granules of the heap's blocks, which nobody else writes to.
        found.retain(|start: &*mut u64| unsafe { **start } != u64::MAX);
        let lives = self.live.iter().filter(|thing| thing.is_actor);
        let mut lives: Vec<_> = lives.map(|thing| thing.start).collect();
        lives.sort_unstable();
        assert!(found == lives, "{} of {}", found.len(), lives.len());
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Cells(count, granules) => self.cells(count, granules),
            Step::Actors(count, together) => self.actors(count, together),
            Step::Forget(count) => {
                let (position, before) = (self.heap.position(), self.live.len());
                self.cells(count, 2);
                self.cells(count % 40, LEAST_WIDE + count % 40);
                self.actors(count, 1);
                let is_since = |thing: &Thing| self.heap.is_since(&position, thing.start.cast());
                assert!(self.live[before..].iter().all(is_since));
                assert!(!self.live[..before].iter().rev().take(500).any(is_since));
                self.live.truncate(before);
                self.heap.rewind(&position);
            }
            Step::Change(one_of) => {
                let actors = self.live.iter_mut().filter(|thing| thing.is_actor);
                for thing in actors.step_by(one_of) {
                    self.heap.note_change(thing.start.cast());
                    thing.is_changed = thing.is_old;
                }
            }
            Step::Collect(one_of, meanwhile, young) => self.collect(one_of, meanwhile, young),
        }
    }

    fn check(&self) {
        assert!(self.live.iter().all(|thing| thing.is_whole()));
        let blocks = |actors| -> HashSet<*mut u8> {
            let own = self.live.iter().filter(|thing| thing.is_actor == actors);
            let mut blocks: Vec<_> = own
                .map(|thing| Block::of(thing.start.cast()).start())
                .collect();
            blocks.dedup();
            blocks.into_iter().collect()
        };
        let (cells, actors) = (blocks(false), blocks(true));
        assert!(cells.intersection(&actors).count() <= 1);
        let held: HashSet<_> = self
            .heap
            .extents()
            .map(|extent| extent.block.start())
            .collect();
        assert!(held.is_superset(&cells) && held.is_superset(&actors));
        assert_eq!(self.pool.used(), held.len() * BLOCK);
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let most: usize = if cfg!(miri) { 60 } else { 12_000 };
    let count = prop_oneof![1..20usize, 1..most];
    let few = prop_oneof![Just(0usize), 1..40usize];
    let step = prop_oneof![
        3 => (count.clone(), 1..5usize).prop_map(|(n, granules)| Step::Cells(n, granules)),
        1 => (1..40usize, 1..400usize).prop_map(|(n, granules)| Step::Cells(n, granules)),
        3 => count.clone().prop_map(|n| Step::Actors(n, 1)),
        1 => (1..40usize, 1..400usize).prop_map(|(n, together)| Step::Actors(n, together)),
        3 => count.prop_map(Step::Forget),
        2 => (1..99usize).prop_map(Step::Change),
        4 => (1..40usize, few, any::<bool>())
            .prop_map(|(one_of, meanwhile, young)| Step::Collect(one_of, meanwhile, young)),
    ];
    proptest::collection::vec(step, 0..if cfg!(miri) { 8 } else { 30 })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 48 }))]

    #[test]
    fn nothing_that_lives_is_given_twice_and_actors_have_blocks_of_their_own(steps in steps()) {
        let mut modelled = Modelled::new();
        for step in &steps {
            modelled.step(step);
            modelled.check();
        }
        // Nothing lives: nothing is held.
        modelled.live.clear();
        modelled.collect(1, 0, false);
        prop_assert_eq!(modelled.pool.used(), 0);
    }
}

#[test]
fn each_place_of_an_actor_is_used_again_before_another_block_is_taken() {
    let mut modelled = Modelled::new();
    let n = 2 * PAYLOAD / GRANULE;
    modelled.actors(n, 1);
    let places: Vec<Thing> = modelled.live.clone();
    // The rest of the last block is no place of theirs.
    let rest = modelled.heap.spaces[ACTORS].room.bytes() / GRANULE;
    modelled.actors(rest, 1);
    modelled.live.truncate(n);
    modelled.heap.start_marking(1);
    for (i, thing) in places.iter().enumerate() {
        if i % 2 == 0 {
            mark(thing.start.cast(), 1, 1);
        }
    }
    drop(modelled.heap.sweep());
    let used = modelled.pool.used();
    modelled.live.clear();
    modelled.actors(n / 2 + rest, 1);
    assert_eq!(modelled.pool.used(), used);
    let again: HashSet<_> = modelled.live.iter().map(|thing| thing.start).collect();
    assert_eq!(again.len(), n / 2 + rest);
    let mut dead = places.iter().skip(1).step_by(2);
    assert!(dead.all(|thing| again.contains(&thing.start)));
    modelled.actors(1, 1);
    assert_eq!(modelled.pool.used(), used + BLOCK);
}

#[test]
fn no_hole_is_skipped_for_a_cell_that_is_too_wide_for_it() {
    let mut modelled = Modelled::new();
    let n = 3 * PAYLOAD / GRANULE / 4;
    modelled.cells(n, 4);
    modelled.heap.start_marking(1);
    for thing in modelled.live.iter().step_by(2) {
        mark(thing.start.cast(), 4, 1);
    }
    drop(modelled.heap.sweep());
    modelled.live.clear();
    let used = modelled.pool.used();
    for i in 0..n / 2 {
        modelled.cells(1, 4);
        if i % 1_000 == 0 {
            modelled.cells(1, LEAST_WIDE);
        }
    }
    // One block for the wide ones.
    assert_eq!(modelled.pool.used(), used + BLOCK);
}

/// Keeps every second thing.
fn keeps_half(modelled: &mut Modelled) {
    modelled.collections += 1;
    modelled.heap.start_marking(modelled.collections);
    let mut n = 0;
    modelled.live.retain(|thing| {
        n += 1;
        n % 2 == 0 && mark(thing.start.cast(), thing.granules, modelled.collections)
    });
    drop(modelled.heap.sweep());
}

#[test]
fn holes_that_are_wide_enough_are_filled_though_nothing_small_is_made() {
    let mut modelled = Modelled::new();
    let n = 3 * PAYLOAD / GRANULE / 32;
    modelled.cells(n, 32);
    keeps_half(&mut modelled);
    let used = modelled.pool.used();
    modelled.cells(n / 2, 32);
    modelled.check();
    assert_eq!(modelled.pool.used(), used);
}

#[test]
fn a_small_heap_takes_no_block_for_wide_cells_alone() {
    let mut modelled = Modelled::new();
    modelled.cells(100, 2);
    keeps_half(&mut modelled);
    // The next hole is too short for it.
    modelled.cells(1, 32);
    modelled.check();
    assert_eq!(modelled.pool.used(), BLOCK);
}

/// It lies in no room, and all the same it was made.
#[test]
fn a_wide_cell_in_a_hole_is_seen_by_all_who_ask_what_was_made() {
    let mut modelled = Modelled::new();
    modelled.cells(100, 32);
    keeps_half(&mut modelled);
    modelled.cells(1, 2);
    let (position, stamp) = (modelled.heap.position(), modelled.heap.stamp());
    modelled.cells(1, 2);
    assert!(modelled.heap.stretch_since(&position).is_some());
    modelled.cells(1, 32);
    modelled.check();
    modelled.heap.rewind(&position);
    assert!(modelled.heap.stretch_since(&position).is_some() && modelled.heap.stamp() == stamp);
    let holes = modelled.heap.spaces[CELLS].filled;
    modelled.cells(1, 32);
    // Where the first one was.
    let [.., first, again] = modelled.live[..] else {
        unreachable!("made just now");
    };
    assert!(first == again && modelled.heap.spaces[CELLS].filled > holes);
    assert!(modelled.heap.is_since(&position, again.start.cast()));
    assert!(modelled.heap.stretch_since(&position).is_none());
    assert!(modelled.heap.stamp() != stamp);
}

#[test]
fn blocks_for_wide_cells_are_filled_though_no_other_has_a_hole() {
    let mut modelled = Modelled::new();
    modelled.cells(3 * PAYLOAD / GRANULE / 4, 4);
    keeps_half(&mut modelled);
    // The first of them goes to a block for such cells alone, and small ones fill all holes and another block.
    modelled.cells(1, 32);
    while modelled.heap.spaces[CELLS].has_holes() {
        modelled.cells(1, 4);
    }
    modelled.cells(modelled.heap.spaces[CELLS].room.bytes() / GRANULE / 4, 4);
    let used = modelled.pool.used();
    modelled.cells(PAYLOAD / GRANULE / 32 - 1, 32);
    modelled.check();
    assert_eq!(modelled.pool.used(), used);
}

#[test]
fn no_actor_keeps_a_block_from_which_all_cells_have_gone() {
    let mut modelled = Modelled::new();
    for _ in 0..40 {
        modelled.cells(20_000, 1);
        modelled.actors(1, 1);
    }
    let blocks = modelled.pool.used() / BLOCK;
    assert!(blocks > 5);
    modelled.live.retain(|thing| thing.is_actor);
    modelled.heap.start_marking(1);
    for actor in &modelled.live {
        mark(actor.start.cast(), 1, 1);
    }
    drop(modelled.heap.sweep());
    modelled.check();
    assert_eq!(modelled.pool.used(), BLOCK);
}

#[test]
fn a_heap_begins_with_one_block_for_cells_and_actors() {
    for cells_first in [true, false] {
        let mut modelled = Modelled::new();
        match cells_first {
            true => modelled.cells(1, 1),
            false => modelled.actors(1, 1),
        }
        modelled.cells(1_000, 4);
        modelled.actors(1_000, 1);
        modelled.check();
        assert_eq!(modelled.pool.used(), BLOCK);
        // And what is too large for its extent of that begins with a block of its own.
        let mut other = Modelled::new();
        match cells_first {
            true => other.cells(1, GRANULES - FIRST),
            false => other.actors(1, GRANULES - FIRST),
        }
        assert_eq!(other.pool.used(), BLOCK);
        other.cells(1, 1);
        other.actors(1, 1);
        other.check();
        assert_eq!(other.pool.used(), 3 * BLOCK);
    }
}
