use super::*;
use crate::base::ids::TimerId;
use crate::heap::block::{BlockPool, BLOCK};
use crate::heap::pace::Pace;
use crate::terms::map;
use crate::values::actor::Actor;
use crate::values::foreign::{LongBytes, CARRIED};

fn unpacked(heap: &mut Heap, write: impl FnOnce(&mut Builder)) -> Value {
    let mut builder = Builder::new();
    write(&mut builder);
    builder.finish().unpack(heap, &mut Vec::new())
}

fn heap() -> Heap {
    Heap::new(Arc::new(BlockPool::default()))
}

#[test]
fn compound_values_come_out_as_they_went_in() {
    let mut heap = heap();
    let value = unpacked(&mut heap, |b| {
        b.tuple(3);
        assert!(b.integer(7));
        b.list(2);
        b.float(1.0e300);
        b.bytes(b"hello, world");
        b.atom(Atom::OK);
        b.empty_list();
    });
    let elements = value.as_tuple().unwrap();
    assert_eq!(elements[0], Value::fixnum(7));
    let (first, rest) = elements[1].as_cons().unwrap();
    assert_eq!(first.as_float(), Some(1.0e300));
    let (second, tail) = rest.as_cons().unwrap();
    assert_eq!(second.as_bytes(), Some(&b"hello, world"[..]));
    assert_eq!(tail, Value::atom(Atom::OK));
    assert_eq!(elements[2], Value::EMPTY_LIST);
}

#[test]
fn raw_words_are_not_taken_for_a_tuple() {
    let mut heap = heap();
    let float = f64::from_bits(TUPLE | 1 << COUNT_SHIFT);
    let value = unpacked(&mut heap, |b| b.float(float));
    assert_eq!(value.as_float(), Some(float));
    let bytes = (TUPLE | 2 << COUNT_SHIFT).to_ne_bytes();
    let value = unpacked(&mut heap, |b| b.bytes(&[bytes, [7; 8]].concat()));
    assert_eq!(value.as_bytes(), Some(&[bytes, [7; 8]].concat()[..]));
}

#[test]
fn depth_and_length_do_not_matter() {
    let n = if cfg!(miri) { 100 } else { 1_000_000 };
    let mut heap = heap();
    let nested = unpacked(&mut heap, |b| {
        for _ in 0..n {
            b.tuple(1);
        }
        b.empty_list();
    });
    let mut depth = 0;
    let mut value = nested;
    while let Some([inner]) = value.as_tuple() {
        value = *inner;
        depth += 1;
    }
    assert_eq!(depth, n);
    let list = unpacked(&mut heap, |b| {
        b.list(n as usize);
        for i in 0..n {
            assert!(b.integer(i));
        }
        b.empty_list();
    });
    let mut value = list;
    for i in 0..n {
        let (head, tail) = value.as_cons().unwrap();
        assert_eq!(head, Value::fixnum(i));
        value = tail;
    }
    assert_eq!(value, Value::EMPTY_LIST);
}

#[test]
fn what_was_written_can_be_taken_back() {
    for keep in [1, FEW, FEW + 1, 3 * FEW] {
        for more in [1, FEW, 3 * FEW] {
            let mut builder = Builder::new();
            builder.list(keep - 1);
            (1..keep).for_each(|_| builder.empty_list());
            let position = builder.position();
            (0..more).for_each(|_| builder.atom(Atom::OK));
            assert_eq!(builder.len(), keep + more);
            builder.rewind(position);
            assert_eq!(builder.len(), keep);
            builder.atom(Atom::ERROR);
            let (words, _) = builder.open();
            assert_eq!(words.len(), keep + 1);
            assert_eq!(words[keep], Value::atom(Atom::ERROR));
            let others = &words[1..keep];
            assert!(others.iter().all(|word| *word == Value::EMPTY_LIST));
        }
    }
}

fn actor(n: usize) -> *const Actor {
    std::ptr::without_provenance(n * 16)
}

fn held(handles: &Arc<Handles>, n: usize) -> Held {
    let key = handles.acquire(actor(n), None);
    let held = handles.hold(key).unwrap();
    handles.release(key);
    held
}

#[test]
fn each_part_comes_to_its_place() {
    let mut heap = heap();
    let handles = Arc::<Handles>::default();
    let id = TimerId {
        serial: 1,
        thread: 2,
        place: 3,
    };
    let timer = unpacked(&mut heap, |b| b.timer(id));
    assert_eq!(timer.as_timer(), Some(id));
    let on = unpacked(&mut heap, |b| {
        b.on();
        b.atom(Atom::OK);
        b.address(held(&handles, 1));
    });
    let parts = (Value::atom(Atom::OK), Value::address(actor(1)));
    assert_eq!(on.as_on(), Some(parts));
    let map = unpacked(&mut heap, |b| {
        b.map(2);
        for (key, value) in [(1, 10), (2, 20)] {
            assert!(b.integer(key) && b.integer(value));
        }
    });
    let map = map::Node::of(map).unwrap();
    let get = |key| {
        map::get(
            map,
            Value::fixnum(key),
            &mut crate::base::work::Work::free(),
        )
    };
    assert_eq!(get(1), Some(Value::fixnum(10)));
    assert_eq!(get(2), Some(Value::fixnum(20)));
}

#[test]
fn what_goes_with_the_words_is_taken_back_with_them() {
    let handles = Arc::<Handles>::default();
    let binary = |byte, n| Arc::new(LongBytes(vec![byte; n].into()));
    let mut builder = Builder::new();
    builder.tuple(3);
    builder.foreign(binary(1, 10));
    builder.address(held(&handles, 1));
    let position = builder.position();
    let second = binary(2, 20);
    builder.foreign(second.clone());
    builder.address(held(&handles, 2));
    assert_eq!(
        (builder.external_bytes(), handles.len()),
        (30 + 2 * CARRIED, 2)
    );
    builder.rewind(position);
    assert_eq!((builder.external_bytes(), handles.len()), (10 + CARRIED, 1));
    assert_eq!(Arc::strong_count(&second), 1);
    builder.foreign(binary(3, 30));
    let parcel = builder.finish();
    assert!(parcel.is_for(&handles) && !parcel.is_for(&Arc::default()));
    assert_eq!(
        (parcel.external_bytes(), handles.len()),
        (40 + 2 * CARRIED, 1)
    );
    let mut heap = heap();
    let value = parcel.unpack(&mut heap, &mut Vec::new());
    let [first, address, last] = value.as_tuple().unwrap() else {
        panic!("three elements")
    };
    let bytes = [first, last].map(|value| value.as_foreign().unwrap().bytes().unwrap()[0]);
    assert_eq!((bytes, *address), ([1, 3], Value::address(actor(1))));
    assert_eq!(handles.len(), 0);
}

/// The collector looks behind each.
#[test]
fn raw_words_are_not_taken_for_addresses() {
    let handles = Arc::<Handles>::default();
    let word = Value::address(actor(7)).word();
    let mut builder = Builder::new();
    builder.tuple(4);
    builder.float(f64::from_bits(word));
    builder.bytes(&[word.to_ne_bytes(), word.to_ne_bytes()].concat());
    builder.timer(TimerId {
        serial: word,
        thread: 1,
        place: 1,
    });
    builder.address(held(&handles, 1));
    let mut shown = Vec::new();
    builder.finish().each_address(|address| shown.push(address));
    assert_eq!(shown, [Value::address(actor(1))]);
}

#[test]
fn what_there_is_no_memory_for_is_missed_though_there_is_some_for_the_rest() {
    let pool = BlockPool::new(8 * BLOCK, Pace::default());
    let mut heap = Heap::new(Arc::new(pool));
    for (bytes, is_enough) in [(1, true), (16 * BLOCK, false), (1, true)] {
        let value = unpacked(&mut heap, |b| {
            b.tuple(1);
            b.bytes(&vec![7; bytes]);
        });
        assert_eq!(!value.is_none(), is_enough);
    }
}

#[test]
fn a_broken_promise_reads_as_undefined() {
    let mut heap = heap();
    let value = unpacked(&mut heap, |b| b.tuple(2));
    assert_eq!(
        value.as_tuple(),
        Some(&[Value::UNDEFINED, Value::UNDEFINED][..])
    );
}
