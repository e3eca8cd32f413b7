//! Tuples that begin with integers, as numbers in the same order: sorting compares these instead.
//!
//! A packing takes the leading integers of every tuple. Where the next element of each is a tuple again, it takes the leading
//! integers of that one, too: of `{2, 7, {1, 0}, 3}` 2, 7, 1 and 0. Each takes as many bits as tell those of its place in all
//! the tuples apart; what no longer fits into 64 bits is left out.
//!
//! Invariants:
//! 1. All the tuples have the same size, and at each packed place a fixnum.
//! 2. Two numbers that differ are in the order of their tuples. Equal ones say nothing of what is left out.
//! 3. Where numbers differ, the highest bit that does tells how many elements a comparison of the tuples looks at:
//!    before it there are equal integers, and at most the inner tuples, which are two cells.
use super::sorting::RUN;
use crate::base::work::Work;
use crate::values::value::Value;

/// The most integers of one tuple.
const MOST: usize = 8;
const BITS: u32 = u64::BITS;

/// The way in which tuples are made into numbers.
pub(super) struct Packing {
    outer: Beginning,
    /// Beginning of the tuples behind the integers of the outer ones.
    inner: Beginning,
    /// Places of both.
    places: [Place; MOST],
    /// Number of elements that are looked at, by the number of bits that are the same.
    looked_at: [u8; BITS as usize],
}

/// Tuples of one size, and how many integers they begin with, so far as they are packed.
#[derive(Clone, Copy)]
struct Beginning {
    size: usize,
    count: usize,
}

/// The integers at one place, as words, which are in the same order.
#[derive(Clone, Copy)]
struct Place {
    least: i64,
    greatest: i64,
    /// Number of bits that tell them apart.
    bits: u32,
}

impl Packing {
    /// `None` where nothing can be packed, and if the turn is to end.
    pub(super) fn of(all: &[Value], key: impl Fn(Value) -> Value, work: &mut Work) -> Option<Self> {
        let first = key(*all.first()?).as_tuple()?;
        let outer = Beginning::of(first, MOST);
        let inner = first.get(outer.count).and_then(|inner| inner.as_tuple());
        let inner = Beginning::of(inner.unwrap_or(&[]), MOST - outer.count);
        let mut packing = Packing {
            outer,
            inner,
            places: [Place::NOWHERE; MOST],
            looked_at: [0; BITS as usize],
        };
        for some in all.chunks(RUN) {
            work.pass(some.len()).ok()?;
            some.iter().try_for_each(|one| packing.widen(key(*one)))?;
        }
        packing.lay_out();
        Some(packing)
    }

    /// Lets the places have the integers of one more tuple. `None` if there is no place left.
    #[inline(always)]
    fn widen(&mut self, value: Value) -> Option<()> {
        let elements = self.outer.elements(value)?;
        let (outer, inner) = self.places.split_at_mut(self.outer.count);
        if let Some(at) = widen(outer, elements) {
            (self.outer.count, self.inner.count) = (at, 0);
        } else if self.inner.count > 0 {
            let elements = self.inner.elements(elements[self.outer.count]);
            let places = &mut inner[..self.inner.count];
            if let Some(at) = elements.map_or(Some(0), |elements| widen(places, elements)) {
                self.inner.count = at;
            }
        }
        (self.outer.count + self.inner.count > 0).then_some(())
    }

    /// The first place has the highest bits.
    fn lay_out(&mut self) {
        let mut left = BITS;
        let mut count = 0;
        for place in &mut self.places[..self.outer.count + self.inner.count] {
            place.bits = BITS - place.offset(place.greatest).leading_zeros();
            if place.bits > left {
                break;
            }
            left -= place.bits;
            count += 1;
        }
        self.outer.count = self.outer.count.min(count);
        self.inner.count = count - self.outer.count;
        let mut same = left as usize;
        for at in 0..count {
            // And the inner tuples themselves.
            let looked_at = at + 1 + usize::from(at >= self.outer.count);
            let bits = self.places[at].bits as usize;
            self.looked_at[same..][..bits].fill(looked_at as u8);
            same += bits;
        }
    }

    /// The number of one of the tuples.
    #[inline(always)]
    pub(super) fn number(&self, tuple: Value) -> u64 {
        let elements = tuple.as_tuple().unwrap_or(&[]);
        let (outer, inner) = self.places.split_at(self.outer.count);
        let number = number_of(0, outer, elements);
        if self.inner.count == 0 {
            return number;
        }
        let elements = elements
            .get(self.outer.count)
            .and_then(|inner| inner.as_tuple());
        number_of(number, &inner[..self.inner.count], elements.unwrap_or(&[]))
    }

    /// Returns how many elements a comparison looks at of two tuples whose numbers differ.
    #[inline(always)]
    pub(super) fn looked_at(&self, a: u64, b: u64) -> usize {
        usize::from(self.looked_at[((a ^ b) | 1).leading_zeros() as usize])
    }
}

/// Lets the places have the integers of one more tuple. Where it has none, if there is such a place.
#[inline(always)]
fn widen(places: &mut [Place], elements: &[Value]) -> Option<usize> {
    for (at, (place, element)) in places.iter_mut().zip(elements).enumerate() {
        if !element.is_fixnum() {
            return Some(at);
        }
        let word = element.word() as i64;
        place.least = place.least.min(word);
        place.greatest = place.greatest.max(word);
    }
    None
}

/// A number that goes on with what is at these places.
#[inline(always)]
fn number_of(begun: u64, places: &[Place], elements: &[Value]) -> u64 {
    (places.iter().zip(elements)).fold(begun, |number, (place, element)| {
        number << place.bits | place.offset(element.word() as i64)
    })
}

impl Beginning {
    fn of(elements: &[Value], most: usize) -> Beginning {
        let integers = elements.iter().take_while(|element| element.is_fixnum());
        Beginning {
            size: elements.len(),
            count: integers.count().min(most),
        }
    }

    /// Returns the elements of one of the tuples.
    #[inline(always)]
    fn elements<'h>(self, value: Value) -> Option<&'h [Value]> {
        value.as_tuple().filter(|of| of.len() == self.size)
    }
}

impl Place {
    const NOWHERE: Place = Place {
        least: i64::MAX,
        greatest: i64::MIN,
        bits: 0,
    };

    /// Returns the distance from the least one, without the tag.
    #[inline(always)]
    fn offset(&self, word: i64) -> u64 {
        (word.wrapping_sub(self.least) as u64) >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::prim::compare::compare;
    use crate::testing::terms::{model, Built, Model};
    use crate::values::value::{FIXNUM_MAX, FIXNUM_MIN};
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn integer() -> impl Strategy<Value = i64> {
        prop_oneof![
            8 => -2i64..3,
            2 => (0i64..3).prop_map(|n| n << 40),
            1 => Just(FIXNUM_MIN),
            1 => Just(FIXNUM_MAX),
        ]
    }

    /// Makes the integers of a tuple of any shape, what comes behind them, and what replaces the tuple now and then.
    fn row() -> impl Strategy<Value = (Vec<i64>, Vec<i64>, Model, Option<Model>)> {
        let odd = prop_oneof![30 => Just(None), 1 => model().prop_map(Some)];
        (vec(integer(), 6), vec(integer(), 6), model(), odd)
    }

    /// `{o1, …, {i1, …}, behind}`
    fn tuple(outer: &[i64], inner: &[i64], behind: &Model) -> Model {
        let integers = |of: &[i64]| of.iter().map(|n| Model::Int(*n)).collect::<Vec<_>>();
        let mut elements = integers(outer);
        elements.push(Model::Tuple(integers(inner)));
        elements.push(behind.clone());
        Model::Tuple(elements)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 1_000 }))]

        /// Invariants 2 and 3.
        #[test]
        fn numbers_that_differ_say_what_comparisons_of_tuples_do(
            rows in vec(row(), 2..20), o in 0usize..7, i in 0usize..7, odd_element: bool
        ) {
            let mut built = Built::new();
            let all: Vec<Value> = rows.iter().map(|(outer, inner, behind, odd)| {
                let model = match (odd, odd_element) {
                    (None, _) => tuple(&outer[..o], &inner[..i], behind),
                    (Some(odd), false) => odd.clone(),
                    // As large as the others.
                    (Some(odd), true) => {
                        let mut elements = vec![Model::Int(outer[0]); o / 2];
                        elements.resize(o + 2, odd.clone());
                        Model::Tuple(elements)
                    }
                };
                built.value(&model)
            }).collect();
            let packing = Packing::of(&all, |value| value, &mut Work::free());
            prop_assert!(packing.is_some() || o + i == 0 || rows.iter().any(|row| row.3.is_some()));
            let Some(packing) = packing else { return Ok(()) };
            for a in &all {
                for b in &all {
                    let mut work = Work::free();
                    let order = compare(*a, *b, &mut work);
                    let (x, y) = (packing.number(*a), packing.number(*b));
                    prop_assert!(x == y || x.cmp(&y) == order);
                    prop_assert!(x == y || packing.looked_at(x, y) == work.counted());
                }
            }
        }
    }

    #[test]
    fn what_is_packed() {
        // Of one bit, two, three and three.
        let mut built = Built::new();
        let rows = [
            [2, 7, 1, 0],
            [3, 7, 1, 0],
            [2, 9, 1, 0],
            [2, 7, -4, 0],
            [2, 7, 1, 5],
        ];
        let all = rows.map(|[a, b, x, y]| built.value(&tuple(&[a, b], &[x, y], &Model::Int(3))));
        let packing = Packing::of(&all, |value| value, &mut Work::free()).unwrap();
        assert_eq!(
            all.map(|tuple| packing.number(tuple)),
            [
                0b0_0010_1000,
                0b1_0010_1000,
                0b0_1010_1000,
                0b0_0000_0000,
                0b0_0010_1101
            ]
        );
        let far = built.value(&tuple(&[2, FIXNUM_MAX], &[1, 0], &Model::Int(3)));
        let near = built.value(&tuple(&[FIXNUM_MIN, 7], &[1, 0], &Model::Int(3)));
        let packing = Packing::of(&[far, near], |value| value, &mut Work::free()).unwrap();
        let numbers = [far, near].map(|tuple| packing.number(tuple));
        assert!(
            numbers == [FIXNUM_MAX as u64 + 3, 0],
            "what does not fit is left out: {numbers:?}"
        );
    }
}
