use super::*;
use crate::base::ids::TimerId;
use crate::boundary::parcel::Builder;
use crate::heap::block::BlockPool;
use crate::heap::Heap;
use std::sync::Arc;

fn value(heap: &mut Heap, write: impl FnOnce(&mut Builder)) -> Term<'static> {
    let mut builder = Builder::new();
    write(&mut builder);
    Term::new(builder.finish().unpack(heap, &mut Vec::new()))
}

fn heap() -> Heap {
    Heap::new(Arc::new(BlockPool::default()))
}

/// The next letter as text.
fn text(letters: &mut Letters<String>) -> Option<String> {
    let mut stack: Vec<String> = Vec::new();
    let plain = |plain| match plain {
        Plain::Integer(n) => n.to_string(),
        Plain::Float(f) => format!("{f:?}"),
        Plain::Atom(atom) => format!(":{}", atom.name()),
        Plain::EmptyList => "[]".to_string(),
    };
    letters
        .read(|part| {
            let text = match part {
                Part::Plain(value) => plain(value),
                Part::Float(f) => format!("{f:?}"),
                Part::Row(row) => {
                    let elements: Vec<String> = row.iter().map(plain).collect();
                    format!("{{{}}}", elements.join(", "))
                }
                Part::Bytes(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
                Part::Tuple(n) => {
                    format!("{{{}}}", stack.split_off(stack.len() - n).join(", "))
                }
                Part::List(n) => {
                    let tail = stack.pop().unwrap();
                    format!("[{} | {tail}]", stack.split_off(stack.len() - n).join(", "))
                }
                Part::Map(n) => {
                    let values = stack.split_off(stack.len() - n);
                    let keys = stack.split_off(stack.len() - n);
                    let entries = keys.iter().zip(&values);
                    let entries = entries.map(|(key, value)| format!("{key} => {value}"));
                    format!("%{{{}}}", entries.collect::<Vec<_>>().join(", "))
                }
                Part::Other(other) => other,
            };
            stack.push(text);
        })
        .then(|| stack.pop())?
}

#[test]
fn letters_come_out_as_they_went_in() {
    let mut heap = heap();
    let mut letters = Letters::default();
    let long = "a binary of more than a word";
    let terms = [
        value(&mut heap, |b| assert!(b.integer(-7))),
        value(&mut heap, |b| {
            b.tuple(3);
            b.atom(Atom::OK);
            b.list(2);
            b.float(1.5);
            b.float(1.0e300);
            b.empty_list();
            b.bytes(long.as_bytes());
        }),
        value(&mut heap, |b| b.tuple(0)),
        value(&mut heap, |b| b.bytes(b"")),
        value(&mut heap, |b| {
            b.tuple(4);
            b.atom(Atom::OK);
            assert!(b.integer(-7));
            b.float(0.0);
            b.empty_list();
        }),
        map_of(&mut heap, 2),
        value(&mut heap, |b| {
            b.tuple(WORDS - 1);
            (1..WORDS).for_each(|_| b.atom(Atom::OK));
        }),
    ];
    for term in terms {
        assert!(letters.write(term));
    }
    assert!(letters.add("copied".to_string()));
    let mut read = std::iter::from_fn(|| text(&mut letters));
    assert_eq!(read.next().unwrap(), "-7");
    let compound = format!("{{:ok, [1.5, 1e300 | []], {long:?}}}");
    assert_eq!(read.next().unwrap(), compound);
    assert_eq!(read.next().unwrap(), "{}");
    assert_eq!(read.next().unwrap(), "\"\"");
    assert_eq!(read.next().unwrap(), "{:ok, -7, 0.0, []}");
    assert_eq!(read.next().unwrap(), "%{0 => {:ok}, 1 => {:ok}}");
    let long = vec![":ok"; WORDS - 1].join(", ");
    assert_eq!(read.next().unwrap(), format!("{{{long}}}"));
    assert_eq!(read.next().unwrap(), "copied");
    assert_eq!(read.next(), None);
    assert!(letters.is_empty());
}

/// A map of so many integers, each to a tuple.
fn map_of(heap: &mut Heap, entries: usize) -> Term<'static> {
    value(heap, |b| {
        b.map(entries);
        for n in 0..entries {
            assert!(b.integer(n as i64));
            b.tuple(1);
            b.atom(Atom::OK);
        }
    })
}

#[test]
fn a_large_map_is_not_written() {
    let mut heap = heap();
    let mut letters: Letters<String> = Letters::default();
    assert!(letters.write(map_of(&mut heap, ENTRIES)));
    assert!(!letters.write(map_of(&mut heap, ENTRIES + 1)));
    assert_eq!(
        text(&mut letters).map(|map| map.matches("=>").count()),
        Some(ENTRIES)
    );
    assert!(letters.is_empty());
}

#[test]
fn what_keeps_something_alive_is_a_part_if_it_is_copied() {
    let mut heap = heap();
    let mut letters: Letters<String> = Letters::default();
    let timer = TimerId {
        serial: 1,
        thread: 1,
        place: 1,
    };
    let term = value(&mut heap, |b| {
        b.tuple(2);
        b.timer(timer);
        b.list(1);
        b.timer(timer);
        b.empty_list();
    });
    let mut copies = 0;
    let mut copy = |most| {
        letters.write_with(term, |_| {
            copies += 1;
            (copies <= most).then(|| format!("copy {copies}"))
        })
    };
    assert!(!copy(1) && copy(9));
    assert_eq!(text(&mut letters).unwrap(), "{copy 3, [copy 4 | []]}");
    assert!(letters.is_empty());
}

#[test]
fn a_letter_can_be_read_again() {
    let mut heap = heap();
    let mut letters: Letters<String> = Letters::default();
    let term = value(&mut heap, |b| {
        b.tuple(2);
        b.atom(Atom::OK);
        b.float(1.0e300);
    });
    assert!(letters.write(term));
    for _ in 0..2 {
        letters.rewind();
        assert_eq!(text(&mut letters).unwrap(), "{:ok, 1e300}");
    }
}

#[test]
fn what_is_large_or_deep_leaves_no_trace() {
    let mut heap = heap();
    let mut letters: Letters<String> = Letters::default();
    let deep = value(&mut heap, |b| {
        (0..DEPTH).for_each(|_| b.tuple(1));
        b.empty_list();
    });
    let long = value(&mut heap, |b| {
        b.list(WORDS);
        (0..WORDS).for_each(|_| b.atom(Atom::OK));
        b.empty_list();
    });
    let row = value(&mut heap, |b| {
        b.tuple(WORDS + 1);
        (0..=WORDS).for_each(|_| b.atom(Atom::OK));
    });
    let bytes = value(&mut heap, |b| {
        b.list(5);
        (0..5).for_each(|_| b.bytes(&[7; 250]));
        b.empty_list();
    });
    for term in [deep, long, row, bytes] {
        assert!(!letters.write(term));
        assert!(letters.is_empty());
    }
}
