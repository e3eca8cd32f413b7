use super::*;
use crate::heap::block::BlockPool;
use crate::heap::cell::cell_of;
use crate::heap::marks::is_marked;
use crate::heap::Heap;

fn lists(heap: &mut Heap) -> (Vec<Value>, Vec<Value>) {
    let (lists, length) = if cfg!(miri) { (4, 10) } else { (200, 1000) };
    let (mut cells, mut roots) = (Vec::new(), Vec::new());
    for _ in 0..lists {
        let mut list = Value::EMPTY_LIST;
        for i in 0..length {
            let pair = heap.tuple(2, |_| Value::fixnum(i));
            list = heap.cons(pair, list);
            cells.push(list);
            cells.push(pair);
        }
        roots.push(list);
    }
    (cells, roots)
}

fn work() -> MarkingWork {
    MarkingWork::new(Arc::new(Program::new().unwrap()))
}

#[test]
fn several_markers_mark_everything_once() {
    let mut heap = Heap::new(Arc::new(BlockPool::default()));
    let (cells, roots) = lists(&mut heap);
    let garbage = heap.cons(Value::NIL, Value::NIL);
    let work = work();
    work.begin(1, None);
    work.add([Packet::Values(roots)]);
    work.call();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| work.help(Effort::ALL));
        }
        work.help(Effort::ALL);
    });
    assert!(work.finish() && work.is_done());
    assert!(cells.iter().all(|cell| is_marked(cell_of(*cell), 1)));
    assert!(!is_marked(cell_of(garbage), 1));
    // Each cell, a list's and a tuple's, which takes two granules.
    assert_eq!(work.result().0.bytes, cells.len() / 2 * 48);
}

#[test]
fn a_slice_takes_packet_after_packet_and_catches_up_when_it_is_late() {
    let mut heap = Heap::new(Arc::new(BlockPool::default()));
    let (_, roots) = lists(&mut heap);
    let work = work();
    // A cell has one granule or two.
    let marked = || work.result().0.bytes / GRANULE;
    // A slice takes no longer than it may, so on a busy computer it may be over early.
    let in_one = (3..23).any(|number| {
        while work.slice(usize::MAX, 0).any {}
        work.begin(number, None);
        // The newest is taken first, and two have no cells.
        let packets = [roots.clone(), vec![], vec![]];
        work.add(packets.map(Packet::Values));
        work.slice(20, 0).any && marked() > 0
    });
    assert!(in_one && marked() <= 40);
    let (before, late) = (marked(), 300);
    let by_now = (before + late) * GRANULE;
    let slices: Vec<Slice> = std::iter::repeat_with(|| work.slice(2, by_now))
        .take(10)
        .collect();
    assert!(slices.iter().all(|slice| slice.any) && marked() >= before + late);
    assert!(marked() <= before + 2 * late && !work.is_done() && !slices[9].is_late);
    // As much as it may take is too little.
    assert!(work.slice(2, usize::MAX).is_late);
    while work.slice(usize::MAX, 0).any {}
    assert!(work.is_done());
}

#[test]
fn slices_and_short_rounds_come_to_an_end_together() {
    let mut heap = Heap::new(Arc::new(BlockPool::default()));
    let (cells, roots) = lists(&mut heap);
    let width = cells.len().min(20_000);
    let wide = heap.tuple(width, |i| cells[i]);
    let work = work();
    work.begin(2, None);
    work.add([Packet::Values(roots), Packet::Values(vec![wide])]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| while work.slice(7, 0).any || !work.is_done() {});
        }
        work.call();
        work.help(Effort {
            cells: 5,
            until: None,
        });
    });
    assert!(work.finish() && work.is_done());
    assert!(cells.iter().all(|cell| is_marked(cell_of(*cell), 2)));
    assert!(is_marked(cell_of(wide), 2));
    let wide = (width + 2) / 2 * 16;
    assert_eq!(work.result().0.bytes, cells.len() / 2 * 48 + wide);
}
