//! Sorting of what may be many elements: in short runs, which are then merged step by step (work.rs, invariant 3). The elements
//! lie outside of the heap meanwhile, so the quota is asked first (quota.rs, invariant 4).
use crate::base::work::{Over, Work};
use crate::heap::Heap;
use std::cmp::Ordering;
use std::hint::select_unpredictable;

/// Values in a run that is sorted in one go: some milliseconds.
pub(crate) const RUN: usize = 1 << 16;
/// Values in such a run where comparing two may take long.
const FEW: usize = 8;

/// Adds what is to be sorted later; `None` where there is no memory for all of it and for its sorting.
#[inline(always)]
pub(crate) fn push<T>(heap: &mut Heap, all: &mut Vec<T>, one: T) -> Option<()> {
    if all.len() == all.capacity() {
        let room = all.capacity().max(FEW) * 2;
        if !heap.fits(2 * room * size_of::<T>()) {
            return None;
        }
        all.reserve_exact(room - all.len());
    }
    all.push(one);
    Some(())
}

/// Sorts by an order that takes little time for each two; stable if `sort` is, which sorts a run.
pub(crate) fn sort_in_runs<T: Copy>(
    all: &mut Vec<T>,
    work: &mut Work,
    sort: impl Fn(&mut [T]),
    order: impl Fn(&T, &T) -> Ordering,
) -> Result<(), Over> {
    for run in all.chunks_mut(RUN) {
        sort(run);
        work.pass(run.len())?;
    }
    merge_runs(all, RUN, work, |a, b, _| order(a, b))
}

/// Sorts by an order whose steps the work counts; stable. The order may answer anything once the work is over.
pub(crate) fn sort_slowly<T: Copy>(
    all: &mut Vec<T>,
    work: &mut Work,
    mut order: impl FnMut(&T, &T, &mut Work) -> Ordering,
) -> Result<(), Over> {
    for run in all.chunks_mut(FEW) {
        for end in 1..run.len() {
            let (one, mut at) = (run[end], end);
            while at > 0 && order(&run[at - 1], &one, work).is_gt() {
                run[at] = run[at - 1];
                at -= 1;
            }
            run[at] = one;
        }
        work.pass(run.len())?;
    }
    merge_runs(all, FEW, work, order)
}

/// Merges runs of that length, each of them sorted. Two that are in order already are compared once.
fn merge_runs<T: Copy>(
    all: &mut Vec<T>,
    mut length: usize,
    work: &mut Work,
    mut order: impl FnMut(&T, &T, &mut Work) -> Ordering,
) -> Result<(), Over> {
    let mut merged = Vec::new();
    while length < all.len() {
        merged.clear();
        merged.reserve_exact(all.len());
        for both in all.chunks(2 * length) {
            let (mut left, mut right) = both.split_at(length.min(both.len()));
            if let ([.., last], [first, ..]) = (left, right) {
                work.pass(1)?;
                if order(last, first, work).is_le() {
                    merged.extend_from_slice(both);
                    continue;
                }
            }
            while let ([a, ..], [b, ..]) = (left, right) {
                work.pass(1)?;
                // No branch: half of them would be guessed wrong.
                let later = order(a, b, work).is_gt();
                merged.push(*select_unpredictable(later, b, a));
                left = &left[usize::from(!later)..];
                right = &right[usize::from(later)..];
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        std::mem::swap(all, &mut merged);
        length *= 2;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_rust_sorts(all in proptest::collection::vec((0u8..20, any::<u16>()), 0..200)) {
            let mut expected = all.clone();
            expected.sort_by_key(|of| of.0);
            let mut slowly = all.clone();
            let sorted = sort_slowly(&mut slowly, &mut Work::free(), |a, b, _| a.0.cmp(&b.0));
            prop_assert!(sorted.is_ok());
            prop_assert_eq!(&slowly, &expected);
            let mut runs = all;
            runs.chunks_mut(4).for_each(|run| run.sort_by_key(|of| of.0));
            let merged = merge_runs(&mut runs, 4, &mut Work::free(), |a, b, _| a.0.cmp(&b.0));
            prop_assert!(merged.is_ok());
            prop_assert_eq!(&runs, &expected);
        }
    }

    #[test]
    fn it_gives_up() {
        let mut work = Work::free();
        work.allow(0);
        let order = |_: &i32, _: &i32, work: &mut Work| {
            let _ = work.count(10);
            Ordering::Greater
        };
        assert!(sort_slowly(&mut (0..100).collect(), &mut work, order).is_err());
    }
}
