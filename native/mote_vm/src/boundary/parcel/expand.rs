//! One message of a row by itself: parts that lie in other messages of the row are written out.
use super::{raw_words, AGAIN, COUNT_SHIFT, KIND, ONCE};
use crate::values::value::Value;
use std::ops::Range;

/// The words of a message, which name no place any more.
pub(crate) fn expand(words: &[Value], range: Range<usize>) -> Vec<Value> {
    let mut backwards = Vec::with_capacity(range.len());
    // Where each part that is written out ends, and where reading goes on then; the innermost is last.
    let mut parts: Vec<(usize, usize)> = Vec::new();
    let (mut at, mut stop) = (range.end, range.start);
    loop {
        while at <= stop {
            match parts.pop() {
                Some((before, resume)) => (stop, at) = (before, resume),
                None => {
                    backwards.reverse();
                    return backwards;
                }
            }
        }
        at -= 1;
        let value = words[at];
        let count = (value.word() >> COUNT_SHIFT) as usize;
        match value.word() & KIND {
            ONCE if value.is_boxed() => {}
            AGAIN if value.is_boxed() => {
                let mark = words.get(count).filter(|_| count < at);
                let size = mark.map_or(0, |mark| (mark.word() >> COUNT_SHIFT) as usize);
                parts.push((stop, at));
                (at, stop) = (count.min(at), count.saturating_sub(size).min(at));
            }
            _ => {
                backwards.push(value);
                let raw = if value.is_boxed() {
                    raw_words(value)
                } else {
                    0
                };
                let from = at.saturating_sub(raw);
                backwards.extend(words[from..at].iter().rev());
                at = from;
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::{Builder, Parcel};
    use super::*;
    use crate::heap::block::BlockPool;
    use crate::heap::Heap;
    use crate::terms::prim::compare::same;
    use std::sync::Arc;

    /// Writes lists of the given parts and of numbers, and remembers where each ends; of earlier ones only the places.
    fn lists(builder: &mut Builder, seed: &mut u64, count: usize) {
        let mut places = Vec::new();
        for n in 0..count {
            builder.tuple(2);
            assert!(builder.integer(n as i64));
            let from = builder.len();
            builder.list(3);
            for _ in 0..3 {
                *seed = seed
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                match (*seed >> 33) % 4 {
                    0 if !places.is_empty() => {
                        builder.again(places[(*seed >> 40) as usize % places.len()]);
                    }
                    1 => builder.float(1.0e300),
                    2 => builder.bytes(b"more than a word"),
                    _ => builder.empty_list(),
                }
            }
            builder.empty_list();
            places.push(builder.once(from));
        }
    }

    #[test]
    fn parts_are_made_once_and_written_out_where_a_message_stands_alone() {
        for mut seed in 0..200 {
            let mut heap = Heap::new(Arc::new(BlockPool::default()));
            let mut builder = Builder::new();
            let count = 1 + seed as usize % 9;
            builder.tuple(count);
            lists(&mut builder, &mut seed, count);
            let (words, rest) = builder.open();
            let alone = expand(&words, 0..words.len());
            assert!(words.len() <= alone.len() + 2 * count);
            let foreigns = rest.into_foreigns();
            let [whole, alone] = [words, alone].map(|words| {
                Parcel::new(words, foreigns.clone()).unpack(&mut heap, &mut Vec::new())
            });
            assert!(same(whole, alone, &mut crate::base::work::Work::free()));
        }
    }

    #[test]
    fn what_is_there_again_is_the_same_cell() {
        let mut heap = Heap::new(Arc::new(BlockPool::default()));
        let mut builder = Builder::new();
        builder.tuple(3);
        builder.tuple(1);
        builder.empty_list();
        let place = builder.once(1);
        builder.again(place);
        builder.again(place);
        let value = builder.finish().unpack(&mut heap, &mut Vec::new());
        let [first, second, third] = value.as_tuple().unwrap() else {
            panic!("three elements")
        };
        assert!(first == second && second == third);
    }

    #[test]
    fn a_long_chain_of_parts_takes_no_stack() {
        let n = if cfg!(miri) { 50 } else { 200_000 };
        let mut heap = Heap::new(Arc::new(BlockPool::default()));
        let mut builder = Builder::new();
        builder.list(n);
        let mut place = None;
        for _ in 0..n {
            let from = builder.len();
            builder.tuple(1);
            match place {
                Some(place) => builder.again(place),
                None => builder.empty_list(),
            }
            place = Some(builder.once(from));
        }
        builder.empty_list();
        let value = builder.finish().unpack(&mut heap, &mut Vec::new());
        let (mut depth, mut at) = (0, value);
        while let Some((_, tail)) = at.as_cons() {
            (depth, at) = (depth + 1, tail);
        }
        assert_eq!(depth, n);
    }
}
