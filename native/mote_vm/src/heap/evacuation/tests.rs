//! Cells of all kinds before and after they have moved, in graphs of any form.
use super::plan::{BlockSurvey, EvacuationPlan};
use super::{Evacuation, Owner, MOST_IN_GROUP};
use crate::code::program::Program;
use crate::gc::check::Checker;
use crate::heap::block::{BlockPool, BLOCK, GRANULE, PAYLOAD};
use crate::heap::{ForeignCell, Heap};
use crate::turns::marking::packets::{Effort, MarkingWork, Packet};
use crate::turns::marking::visitor::Visitor;
use crate::values::actor::{Actor, BehaviourId, Header};
use crate::values::foreign::LongBytes;
use crate::values::value::Value;
use proptest::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Most captures of an actor.
const CAPTURES: u16 = 5;

/// A heap, and what refers to it from outside.
struct Scene {
    pool: Arc<BlockPool>,
    heap: Heap,
    program: Arc<Program>,
    work: MarkingWork,
    number: u64,
    behaviours: Vec<BehaviourId>,
    actors: Vec<*const Actor>,
    /// Values that roots refer to.
    pins: Vec<Value>,
    foreigns: Vec<ForeignCell>,
}

impl Scene {
    fn new() -> Scene {
        let pool = Arc::new(BlockPool::default());
        let program = Arc::new(Program::new().unwrap());
        Scene {
            heap: Heap::new(pool.clone()),
            pool,
            work: MarkingWork::new(program.clone()),
            number: 0,
            behaviours: (0..=CAPTURES)
                .map(|n| program.publish_capturing(n))
                .collect(),
            program,
            actors: Vec::new(),
            pins: Vec::new(),
            foreigns: Vec::new(),
        }
    }

    /// A new actor that holds these values.
    fn hold(&mut self, values: &[Value]) {
        let state = self.heap.captures(values.len(), |i| values[i]).unwrap();
        let header = Header::new(self.behaviours[values.len()], None, 0);
        self.actors
            .push(self.heap.actor(header, state).address_pointer());
    }

    fn held(&self) -> Vec<Value> {
        let held = |actor: &*const Actor| {
            // SAFETY: it is held.
            let actor = unsafe { &**actor };
            let n = self.program.behaviour(actor.header().behaviour()).captures;
            actor.captured(n as usize).collect::<Vec<_>>()
        };
        self.actors.iter().flat_map(held).collect()
    }

    /// Returns what actors and roots hold, written out.
    fn shown(&self) -> Vec<String> {
        show(self.held().into_iter().chain(self.pins.iter().copied()))
    }

    fn roots(&self) -> Vec<Value> {
        let actors = self.actors.iter().map(|actor| Value::address(*actor));
        let mut roots = Vec::new();
        actors
            .chain(self.pins.iter().copied())
            .for_each(|root| roots.value(root));
        roots
    }

    /// A collection to its end, but for what moves according to a plan.
    fn collect(&mut self, plan: Option<EvacuationPlan>) -> Option<Evacuation> {
        self.number += 1;
        let mut evacuation = plan.map(|plan| Evacuation::new(self.number, plan, true));
        if let Some(evacuation) = &mut evacuation {
            evacuation.takes_from(&mut self.heap, Owner::Resting);
        }
        self.heap.start_marking(self.number);
        self.work.begin(self.number, evacuation);
        self.work.add([Packet::Values(self.roots())]);
        self.work.call();
        self.work.help(Effort::ALL);
        assert!(self.work.finish());
        let evacuation = self.work.take_evacuation();
        self.foreigns.extend(self.heap.sweep());
        self.heap.spoil();
        let (live, dead) = std::mem::take(&mut self.foreigns)
            .into_iter()
            .partition(|f| f.is_live(self.number));
        self.foreigns = live;
        let dead: Vec<ForeignCell> = dead;
        for foreign in dead {
            // SAFETY: once, and nothing refers to it.
            self.pool.let_go(unsafe { foreign.drop(&self.pool) });
        }
        evacuation
    }

    /// Returns the plan that a survey makes.
    fn plan(&self) -> Option<EvacuationPlan> {
        self.plan_where(false, false)
    }

    fn plan_where(&self, short: bool, full: bool) -> Option<EvacuationPlan> {
        let mut survey = BlockSurvey::new(self.number, short, full);
        survey.add(&self.heap);
        while survey.count_some() {}
        survey.plan()
    }

    /// Moves all that is left to move, each group checked; the most that one of them walked.
    fn move_all(&mut self, mut evacuation: Evacuation) -> usize {
        let mut most = 0;
        while !evacuation.is_over() {
            most = most.max(evacuation.move_next(&self.pool, MOST_IN_GROUP));
            self.check();
        }
        self.end(evacuation);
        most
    }

    fn end(&mut self, mut evacuation: Evacuation) {
        evacuation.end(&self.pool);
        for (_, extent) in evacuation.settled() {
            self.heap.take_in(extent, self.number);
        }
        self.check();
    }

    /// Everything that can be reached is marked.
    fn check(&self) {
        let mut checker = Checker::new(&self.program, self.number);
        self.roots()
            .into_iter()
            .for_each(|root| checker.value(root));
        checker.finish();
    }

    /// Actors with something of each kind, of which one in `keeps` stays.
    fn fill(&mut self, blocks: usize, keeps: usize) {
        let mut n = 0;
        while self.pool.used() < blocks * BLOCK {
            let held = self.something(n);
            self.hold(&held);
            n += 1;
        }
        let mut at = 0;
        self.actors.retain(|_| {
            at += 1;
            at % keeps == 0
        });
    }

    fn something(&mut self, n: usize) -> Vec<Value> {
        let heap = &mut self.heap;
        let i = Value::fixnum(n as i64);
        let list = (0..5).fold(Value::EMPTY_LIST, |list, _| heap.cons(i, list));
        let binary = format!("a binary of more than twenty-four bytes, {n}");
        let bytes = heap.bytes(binary.as_bytes());
        let part = heap.slice(bytes, bytes.as_binary().unwrap(), 1..30);
        let float = heap.float(1.0e300 * n as f64);
        let tuple = heap.tuple(4, |at| [list, bytes, part, float][at]);
        let map = heap.map_node((0, false), 2, 2, |entries| {
            entries.extend(&[Value::fixnum(1), Value::fixnum(2)], &[list, tuple]);
        });
        match n % 4 {
            0 => vec![tuple, part, map],
            1 => vec![part, map],
            _ => vec![map],
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for foreign in self.foreigns.drain(..) {
            // SAFETY: as above.
            self.pool.let_go(unsafe { foreign.drop(&self.pool) });
        }
    }
}

/// Values with all that they hold, as text: each cell once, with a number that stands for it from then on.
fn show(values: impl IntoIterator<Item = Value>) -> Vec<String> {
    let mut stack: Vec<Value> = values.into_iter().collect();
    let (mut known, mut shown) = (FxHashMap::default(), Vec::new());
    while let Some(value) = stack.pop() {
        let number = known.len();
        let is_pointer = !value.is_immediate() && !value.is_none() && !value.is_address();
        match is_pointer.then(|| known.get(&value)).flatten() {
            Some(number) => shown.push(format!("#{number}")),
            None if !is_pointer => shown.push(format!("{value:?}")),
            None => {
                known.insert(value, number);
                let text = value.as_bytes().map(String::from_utf8_lossy);
                let parts = match value.is_cons() {
                    true => value.cons_cell(),
                    false => value.boxed_parts(),
                };
                shown.push(format!("{text:?} {:?} {}", value.as_float(), parts.len()));
                stack.extend(parts);
            }
        }
    }
    shown
}

fn live_bytes(scene: &Scene) -> usize {
    scene.work.result().0.bytes
}

#[test]
#[cfg_attr(miri, ignore)] // Miri has small blocks, and takes long.
fn what_lives_in_sparse_blocks_moves_together_and_stays_what_it_is() {
    let mut scene = Scene::new();
    scene.fill(24, 21);
    assert!(scene.collect(None).is_none());
    let (before, used) = (scene.shown(), scene.pool.used());
    let plan = scene.plan().expect("sparse");
    let evacuation = scene.collect(Some(plan)).unwrap();
    assert!(scene.move_all(evacuation) <= 2 * MOST_IN_GROUP);
    assert_eq!(scene.shown(), before);
    // The first block is for actors, too; and so are some others.
    assert!(
        scene.pool.used() < used / 3,
        "{} of {used}",
        scene.pool.used()
    );
    assert!(scene.pool.used() <= live_bytes(&scene) * 8 / 5 + 8 * BLOCK);
    // What has moved is found by the next collection, and there is nothing more to save.
    assert!(scene.collect(None).is_none());
    assert!(scene.plan().is_none());
    assert_eq!(scene.shown(), before);
    scene.check();
}

#[test]
fn what_roots_refer_to_stays_and_what_it_holds_moves() {
    let mut scene = Scene::new();
    let deep = scene.something(1);
    let root = scene.heap.tuple(2, |i| deep[i]);
    scene.pins = vec![root, root, scene.heap.cons(root, deep[0])];
    let (before, pins) = (scene.shown(), scene.pins.clone());
    let evacuation = scene.collect(Some(EvacuationPlan::everything())).unwrap();
    scene.move_all(evacuation);
    assert_eq!((scene.shown(), &scene.pins), (before, &pins));
    let moved = root.as_tuple().unwrap();
    assert!(moved[0] != deep[0] && moved[1] != deep[1]);
}

#[test]
fn what_cannot_be_copied_stays() {
    for room in 0..12 {
        let mut scene = Scene::new();
        for n in 0..8 {
            let held = scene.something(n);
            scene.hold(&held);
        }
        let before = scene.shown();
        let mut evacuation = scene.collect(Some(EvacuationPlan::everything())).unwrap();
        evacuation.destination.refused_after = Some(room);
        scene.move_all(evacuation);
        assert_eq!(scene.shown(), before);
        // All of it moves another time.
        let evacuation = scene.collect(Some(EvacuationPlan::everything())).unwrap();
        scene.move_all(evacuation);
        assert_eq!(scene.shown(), before);
    }
}

#[test]
#[cfg_attr(miri, ignore)] // As above.
fn a_group_that_much_refers_to_stays() {
    let mut scene = Scene::new();
    scene.fill(4, 101);
    let popular = scene.heap.tuple(1, |_| Value::fixnum(7));
    (0..=MOST_IN_GROUP).for_each(|_| scene.hold(&[popular]));
    let before = scene.shown();
    let evacuation = scene.collect(Some(EvacuationPlan::everything())).unwrap();
    let groups = evacuation.groups.len();
    assert!(groups > 2 && scene.move_all(evacuation) <= MOST_IN_GROUP);
    assert_eq!(scene.shown(), before);
    assert_eq!(scene.held().last(), Some(&popular));
}

#[test]
#[cfg_attr(miri, ignore)] // As above.
fn what_was_not_moved_stays_when_the_rest_is_given_up() {
    let mut scene = Scene::new();
    scene.fill(10, 11);
    assert!(scene.collect(None).is_none());
    let before = scene.shown();
    for moved in [0, 1, 2] {
        let plan = scene.plan().expect("sparse");
        let mut evacuation = scene.collect(Some(plan)).unwrap();
        assert!(evacuation.groups.len() > moved);
        for _ in 0..moved {
            evacuation.move_next(&scene.pool, usize::MAX);
        }
        scene.end(evacuation);
        assert_eq!(scene.shown(), before);
    }
    // Turns make something in the holes.
    for n in 0..100_000 {
        assert!(!scene.heap.cons(Value::fixnum(n), Value::NIL).is_none());
    }
    assert_eq!(scene.shown(), before);
}

#[test]
fn foreign_values_move_and_are_dropped_once() {
    let mut scene = Scene::new();
    let counted: Arc<[u8]> = vec![b'x'; 300].into();
    for _ in 0..3 {
        let long = Arc::new(LongBytes(counted.to_vec().into()));
        let value = scene.heap.foreign(long);
        let part = scene.heap.slice(value, value.as_bytes().unwrap(), 5..100);
        scene.hold(&[value, part]);
    }
    let before = scene.shown();
    let evacuation = scene.collect(Some(EvacuationPlan::everything())).unwrap();
    scene.move_all(evacuation);
    assert_eq!((scene.shown(), scene.foreigns.len()), (before, 3));
    scene.actors.pop();
    scene.collect(None);
    assert_eq!(scene.foreigns.len(), 2);
    let evacuation = scene.collect(Some(EvacuationPlan::everything())).unwrap();
    scene.move_all(evacuation);
    scene.actors.clear();
    scene.collect(None);
    assert!(scene.foreigns.is_empty());
}

#[test]
#[cfg_attr(miri, ignore)] // As above.
fn nothing_is_planned_where_little_is_saved() {
    let mut scene = Scene::new();
    scene.fill(8, 1);
    scene.collect(None);
    assert!(scene.plan().is_none());
    // A cell that is larger than a block is in none that could be evacuated.
    let n = 2 * PAYLOAD / 8;
    let list = scene.heap.cons(Value::NIL, Value::NIL);
    let large = scene.heap.tuple(n, |_| list);
    scene.hold(&[large]);
    let evacuation = scene.collect(Some(EvacuationPlan::everything())).unwrap();
    assert!(evacuation
        .groups
        .iter()
        .any(|group| group.slots.len() >= n - GRANULE));
    scene.end(evacuation);
    assert_eq!(large.as_tuple().unwrap()[n - 1], list);
}

/// A scene of some twenty blocks, in which the first `live` of so many equal cells live, again and again.
fn filled(live: usize, of: usize) -> Scene {
    let mut scene = Scene::new();
    for n in 0.. {
        let cells: Vec<Value> = (0..of)
            .map(|_| scene.heap.tuple(13, |_| Value::NIL))
            .collect();
        for some in cells[..live].chunks(4) {
            scene.hold(some);
        }
        if n % 64 == 0 && scene.pool.used() >= 16 * BLOCK {
            break;
        }
    }
    scene.collect(None);
    scene
}

#[test]
#[cfg_attr(miri, ignore)] // As above.
fn denser_blocks_move_where_memory_is_short() {
    let chosen = |scene: &Scene, short, full| {
        let plan = scene.plan_where(short, full);
        plan.map(|plan| plan.chosen.len())
    };
    // More than five eighths, and less than three quarters: all of them move.
    let scene = filled(2, 3);
    assert!(chosen(&scene, false, false).is_none() && chosen(&scene, true, false) > Some(10));
    // More than that: as many as make it worth it, where no message enters.
    let scene = filled(4, 5);
    assert_eq!(chosen(&scene, true, false), None);
    let moved = chosen(&scene, true, true).expect("worth it");
    assert!((2..=12).contains(&moved), "{moved}");
    // However dense they are. Where all of them leave no block, none moves.
    let scene = filled(9, 10);
    assert!(chosen(&scene, true, false).is_none() && chosen(&scene, true, true) >= Some(2));
    assert_eq!(chosen(&filled(1, 1), true, true), None);
}

/// A step of a heap's life.
#[derive(Clone, Debug)]
enum Step {
    /// A cell, made of others: their indices among those that are held.
    Make(u8, Vec<usize>),
    /// An actor, or a root, lets go.
    Drop(usize),
    Pin(usize),
    Unpin,
    /// A collection; what it moves, and after how many groups that is given up.
    Collect(bool, usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..8u8, prop::collection::vec(any::<usize>(), 0..6)).prop_map(|(kind, of)| Step::Make(kind, of)),
        2 => any::<usize>().prop_map(Step::Drop),
        1 => any::<usize>().prop_map(Step::Pin),
        1 => Just(Step::Unpin),
        1 => (any::<bool>(), 0..5usize).prop_map(|(moves, groups)| Step::Collect(moves, groups)),
    ]
}

fn make(scene: &mut Scene, kind: u8, of: &[usize]) {
    let held = scene.held();
    let any = |i: usize| held.get(i % held.len().max(1)).copied();
    let parts: Vec<Value> = of.iter().map(|i| any(*i).unwrap_or(Value::NIL)).collect();
    let first = parts.first().copied().unwrap_or(Value::EMPTY_LIST);
    let heap = &mut scene.heap;
    let value = match kind {
        0 => heap.cons(first, parts.last().copied().unwrap_or(Value::NIL)),
        1 => heap.tuple(parts.len(), |i| parts[i]),
        2 => heap.bytes(&vec![b'a' + of.len() as u8; 10 * of.len() + 25]),
        3 => match first.as_binary() {
            Some(bytes) if bytes.len() > 26 => heap.slice(first, bytes, 1..bytes.len()),
            _ => heap.cons(first, first),
        },
        4 => heap.foreign(Arc::new(LongBytes(vec![b'f'; 300 + of.len()].into()))),
        5 => heap.tuple(if cfg!(miri) { 30 } else { 300 } * of.len(), |i| {
            parts[i % parts.len()]
        }),
        6 => (0..if cfg!(miri) { 40 } else { 2_000 })
            .fold(first, |list, _| heap.cons(Value::NIL, list)),
        _ => return scene.hold(&parts[..parts.len().min(CAPTURES as usize)]),
    };
    scene.hold(&[value]);
}

fn run(steps: &[Step]) {
    let mut scene = Scene::new();
    for step in steps {
        match step {
            Step::Make(kind, of) => make(&mut scene, *kind, of),
            Step::Drop(i) if !scene.actors.is_empty() => {
                let i = i % scene.actors.len();
                scene.actors.swap_remove(i);
            }
            Step::Pin(i) => {
                let held = scene.held();
                scene.pins.extend(held.get(i % held.len().max(1)));
            }
            Step::Drop(_) => {}
            Step::Unpin => drop(scene.pins.pop()),
            Step::Collect(moves, groups) => {
                let before = scene.shown();
                match scene.collect(moves.then(EvacuationPlan::everything)) {
                    None => scene.check(),
                    Some(evacuation) if *groups == 4 => drop(scene.move_all(evacuation)),
                    Some(mut evacuation) => {
                        for _ in 0..*groups.min(&evacuation.groups.len()) {
                            evacuation.move_next(&scene.pool, usize::MAX);
                        }
                        scene.end(evacuation);
                    }
                }
                assert_eq!(scene.shown(), before);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 64 }))]
    #[test]
    fn graphs_of_any_form_stay_what_they_are(steps in prop::collection::vec(step(), 1..if cfg!(miri) { 40 } else { 100 })) {
        run(&steps);
    }
}
