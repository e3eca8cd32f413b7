//! Tools shared by the tests of the primitives: a heap, foreign values, and terms as plain Rust data with their order
//! written down a second time, naively.
use crate::base::atom::Atom;
use crate::heap::block::BlockPool;
use crate::heap::Heap;
use crate::terms::map;
use crate::terms::prim::lists::from_slice;
use crate::values::actor::{BehaviourId, Header};
use crate::values::foreign::{Class, Foreign, ForeignRef};
use crate::values::value::{Value, FIXNUM_MAX, FIXNUM_MIN};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::Arc;

/// Comparisons for which nobody pays.
pub(crate) mod uncounted {
    use crate::base::work::Work;
    use crate::terms::prim::compare as counted;
    use crate::values::value::Value;
    use std::cmp::Ordering;

    pub(crate) fn compare(a: Value, b: Value) -> Ordering {
        counted::compare(a, b, &mut Work::free())
    }

    pub(crate) fn less(a: Value, b: Value) -> bool {
        counted::less(a, b, &mut Work::free())
    }

    pub(crate) fn equal(a: Value, b: Value) -> bool {
        counted::equal(a, b, &mut Work::free())
    }

    pub(crate) fn same(a: Value, b: Value) -> bool {
        counted::same(a, b, &mut Work::free())
    }

    pub(crate) fn key_order(a: Value, b: Value) -> Ordering {
        counted::key_order(a, b, &mut Work::free())
    }

    pub(crate) fn max(a: Value, b: Value) -> Value {
        counted::max(a, b, &mut Work::free())
    }

    pub(crate) fn min(a: Value, b: Value) -> Value {
        counted::min(a, b, &mut Work::free())
    }
}

pub(crate) fn heap() -> Heap {
    Heap::new(Arc::new(BlockPool::default()))
}

/// The words of a list's elements, and of what ends it.
pub(crate) fn elements(list: Value) -> (Vec<Value>, Value) {
    let (mut elements, mut rest) = (Vec::new(), list);
    while let Some((head, tail)) = rest.as_cons() {
        elements.push(head);
        rest = tail;
    }
    (elements, rest)
}

/// A list of integers.
pub(crate) fn list(heap: &mut Heap, numbers: &[i64]) -> Value {
    let values: Vec<Value> = numbers.iter().map(|n| Value::fixnum(*n)).collect();
    from_slice(heap, &values)
}

/// The integers of a list.
pub(crate) fn numbers(list: Value) -> Vec<i64> {
    let (elements, end) = elements(list);
    assert!(end == Value::EMPTY_LIST);
    elements.iter().map(|n| n.as_fixnum().unwrap()).collect()
}

/// A term.
#[derive(Clone, Debug)]
pub(crate) enum Model {
    Int(i64),
    /// Outside of the fixnum range.
    Big(i128),
    /// Too large to calculate with, and negative or not.
    Beyond(bool),
    Float(f64),
    Atom(&'static str),
    /// A value of a class without structure, and a number to tell such values apart.
    Opaque(Class, u8),
    /// The address of one of the actors of [`Built`].
    Address(usize),
    On(&'static str, usize),
    Tuple(Vec<Model>),
    /// Elements, and what ends an improper list.
    List(Vec<Model>, Option<Box<Model>>),
    Bytes(Vec<u8>),
    /// Bits, not a multiple of eight, and how many of the first byte are not theirs.
    Bits(Vec<bool>, usize),
    /// Keys and values; of several equal keys the last one counts.
    Map(Vec<(Model, Model)>),
}

/// A heap, and terms built in it.
pub(crate) struct Built {
    pub(crate) heap: Heap,
    actors: Vec<Value>,
}

impl Built {
    pub(crate) fn new() -> Built {
        let mut heap = heap();
        let actors = (0..3)
            .map(|_| heap.actor(Header::new(BehaviourId::SINK, None, 0), Value::NONE))
            .collect();
        Built { heap, actors }
    }

    /// A fresh copy of the term.
    pub(crate) fn value(&mut self, model: &Model) -> Value {
        match model {
            Model::Int(n) => Value::integer(*n).expect("a fixnum"),
            Model::Big(n) => self.heap.wide_integer(*n),
            Model::Beyond(negative) => self.heap.foreign(Arc::new(Beyond(*negative))),
            Model::Float(f) => self.heap.float(*f),
            Model::Atom(name) => Value::atom(Atom::new(name)),
            Model::Opaque(class, n) => self.heap.foreign(Arc::new(Opaque(*class, *n))),
            Model::Address(n) => self.actors[*n],
            Model::On(sponsor, n) => {
                let address = self.actors[*n];
                self.heap.on(Value::atom(Atom::new(sponsor)), address)
            }
            Model::Tuple(models) => {
                let values: Vec<Value> = models.iter().map(|m| self.value(m)).collect();
                self.heap.tuple(values.len(), |i| values[i])
            }
            Model::List(models, end) => {
                let end = end
                    .as_ref()
                    .map_or(Value::EMPTY_LIST, |end| self.value(end));
                models.iter().rev().fold(end, |tail, model| {
                    let head = self.value(model);
                    self.heap.cons(head, tail)
                })
            }
            Model::Bytes(bytes) => self.heap.bytes(bytes),
            Model::Bits(bits, before) => bitstring(&mut self.heap, bits, *before),
            Model::Map(pairs) => {
                let pairs = pairs.iter().map(|(k, v)| (self.value(k), self.value(v)));
                let pairs = pairs.collect();
                map::from_entries(&mut self.heap, pairs)
            }
        }
    }
}

/// The bits of bytes, each by itself.
pub(crate) fn bits_of(bytes: &[u8]) -> Vec<bool> {
    let bit = |i: usize| bytes[i / 8] >> (7 - i % 8) & 1 == 1;
    (0..8 * bytes.len()).map(bit).collect()
}

/// A bitstring of these bits, that begin within a byte; the bits beside them are set.
pub(crate) fn bitstring(heap: &mut Heap, bits: &[bool], before: usize) -> Value {
    let end = before + bits.len();
    let mut bytes = vec![0xFF; end.div_ceil(8)];
    for (i, _) in bits.iter().enumerate().filter(|(_, bit)| !**bit) {
        bytes[(before + i) / 8] &= !(0x80 >> ((before + i) % 8));
    }
    let binary = heap.bytes(&bytes);
    heap.bitstring(binary, before, 8 * bytes.len() - end)
}

/// An integer that is too large to calculate with, negative or not.
pub(crate) struct Beyond(pub(crate) bool);

impl Foreign for Beyond {
    fn class(&self) -> Class {
        Class::BigInteger
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        match other.as_any().downcast_ref::<Beyond>() {
            Some(other) => other.0.cmp(&self.0),
            None => panic!("compared with another class"),
        }
    }
    fn compare_float(&self, _: f64) -> Ordering {
        match self.0 {
            true => Ordering::Less,
            false => Ordering::Greater,
        }
    }
    fn is_negative(&self) -> bool {
        self.0
    }
}

/// A value of another class. Even numbers take messages, if their class may.
pub(crate) struct Opaque(pub(crate) Class, pub(crate) u8);

impl Opaque {
    /// The number of those that have a sponsor to choose.
    pub(crate) const CHOOSES: u8 = 100;
}

impl Foreign for Opaque {
    fn on(&self, sponsor: Atom) -> Option<ForeignRef> {
        (self.1 == Opaque::CHOOSES).then(|| Arc::new(Carrying(sponsor)) as ForeignRef)
    }
    fn class(&self) -> Class {
        self.0
    }
    fn is_address(&self) -> bool {
        matches!(self.0, Class::Pid | Class::Address) && self.1.is_multiple_of(2)
    }
    fn compare(&self, other: &dyn Foreign) -> Ordering {
        match other.as_any().downcast_ref::<Opaque>() {
            Some(other) if other.0 == self.0 => self.1.cmp(&other.1),
            _ => panic!("compared with another class"),
        }
    }
}

/// An address that carries a sponsor.
pub(crate) struct Carrying(pub(crate) Atom);

impl Foreign for Carrying {
    fn class(&self) -> Class {
        Class::Address
    }
    fn compare(&self, _: &dyn Foreign) -> Ordering {
        panic!("nobody asks")
    }
}

/// The order and equality of models, by recursion.
pub(crate) mod model_of {
    use super::*;

    pub(crate) fn compare(a: &Model, b: &Model) -> Ordering {
        ordered(a, b, false)
    }

    /// Compares keys of maps: equal keys are the same.
    fn key_order(a: &Model, b: &Model) -> Ordering {
        ordered(a, b, true)
    }

    fn ordered(a: &Model, b: &Model, exact: bool) -> Ordering {
        use Model::*;
        match (a, b) {
            (Int(x), Int(y)) => x.cmp(y),
            (Beyond(x), Beyond(y)) => y.cmp(x),
            (Beyond(_), Float(_)) if exact => Ordering::Less,
            (Float(_), Beyond(_)) if exact => Ordering::Greater,
            (Beyond(x), Int(_) | Big(_) | Float(_)) => beyond(*x),
            (Int(_) | Big(_) | Float(_), Beyond(y)) => beyond(*y).reverse(),
            (Int(x), Big(y)) => i128::from(*x).cmp(y),
            (Big(x), Int(y)) => x.cmp(&i128::from(*y)),
            (Big(x), Big(y)) => x.cmp(y),
            (Float(x), Float(y)) if exact => x.total_cmp(y),
            (Int(_) | Big(_), Float(_)) if exact => Ordering::Less,
            (Float(_), Int(_) | Big(_)) if exact => Ordering::Greater,
            (Float(x), Float(y)) => x.partial_cmp(y).unwrap(),
            (Int(x), Float(y)) => integer_and_float(i128::from(*x), *y),
            (Float(x), Int(y)) => integer_and_float(i128::from(*y), *x).reverse(),
            (Big(x), Float(y)) => integer_and_float(*x, *y),
            (Float(x), Big(y)) => integer_and_float(*y, *x).reverse(),
            (Atom(x), Atom(y)) => x.cmp(y),
            (Address(x), Address(y)) => x.cmp(y),
            (On(s, x), On(t, y)) => (s, x).cmp(&(t, y)),
            (Opaque(c, x), Opaque(d, y)) if c == d => x.cmp(y),
            (Bytes(_) | Bits(..), Bytes(_) | Bits(..)) => bits(a).cmp(&bits(b)),
            (Tuple(x), Tuple(y)) => x.len().cmp(&y.len()).then_with(|| in_order(x, y, exact)),
            (Map(x), Map(y)) => {
                let (x, y) = (canonical(x), canonical(y));
                let column = |of: &[(Model, Model)], i: usize| -> Vec<Model> {
                    of.iter()
                        .map(|(k, v)| if i == 0 { k.clone() } else { v.clone() })
                        .collect()
                };
                (x.len().cmp(&y.len()))
                    .then_with(|| in_order(&column(&x, 0), &column(&y, 0), true))
                    .then_with(|| in_order(&column(&x, 1), &column(&y, 1), exact))
            }
            (List(x, end_x), List(y, end_y)) if !x.is_empty() && !y.is_empty() => {
                lists(x, end_x, y, end_y, exact)
            }
            _ => rank(a).cmp(&rank(b)),
        }
    }

    /// Compares a number larger than all others with them; smaller than all if `negative`.
    fn beyond(negative: bool) -> Ordering {
        match negative {
            true => Ordering::Less,
            false => Ordering::Greater,
        }
    }

    /// Sorted, each key once.
    pub(crate) fn canonical(pairs: &[(Model, Model)]) -> Vec<(Model, Model)> {
        let mut sorted: Vec<(Model, Model)> = Vec::new();
        for (key, value) in pairs {
            match sorted.iter_mut().find(|(k, _)| key_order(k, key).is_eq()) {
                Some(pair) => pair.1 = value.clone(),
                None => sorted.push((key.clone(), value.clone())),
            }
        }
        sorted.sort_by(|a, b| key_order(&a.0, &b.0));
        sorted
    }

    pub(crate) fn same(a: &Model, b: &Model) -> bool {
        use Model::*;
        match (a, b) {
            (Float(x), Float(y)) => x.to_bits() == y.to_bits(),
            (Float(_), _) | (_, Float(_)) => false,
            (Tuple(x), Tuple(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
            (List(x, end_x), List(y, end_y)) => {
                x.len() == y.len()
                    && x.iter().zip(y).all(|(x, y)| same(x, y))
                    && match (end_x, end_y) {
                        (Some(x), Some(y)) => same(x, y),
                        (None, None) => true,
                        _ => false,
                    }
            }
            (Map(x), Map(y)) => {
                let (x, y) = (canonical(x), canonical(y));
                let pair = |(x, y): (&(Model, Model), &(Model, Model))| {
                    key_order(&x.0, &y.0).is_eq() && same(&x.1, &y.1)
                };
                x.len() == y.len() && x.iter().zip(&y).all(pair)
            }
            _ => compare(a, b).is_eq(),
        }
    }

    pub(crate) fn integer_and_float(n: i128, f: f64) -> Ordering {
        // Saturates far outside of what tests use.
        let floor = f.floor() as i128;
        match n.cmp(&floor) {
            Ordering::Equal if f != f.floor() => Ordering::Less,
            order => order,
        }
    }

    fn bits(model: &Model) -> Vec<bool> {
        match model {
            Model::Bytes(bytes) => bits_of(bytes),
            Model::Bits(bits, _) => bits.clone(),
            other => panic!("{other:?} is no bitstring"),
        }
    }

    fn in_order(a: &[Model], b: &[Model], exact: bool) -> Ordering {
        a.iter()
            .zip(b)
            .map(|(x, y)| ordered(x, y, exact))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// Two lists: where the shorter one's cells end, its end meets the other's remaining list.
    fn lists(x: &[Model], end_x: &End, y: &[Model], end_y: &End, exact: bool) -> Ordering {
        in_order(x, y, exact).then_with(|| {
            let cells = x.len().min(y.len());
            ordered(&rest(x, end_x, cells), &rest(y, end_y, cells), exact)
        })
    }

    type End = Option<Box<Model>>;

    /// Returns what is left behind `cells` cells.
    fn rest(elements: &[Model], end: &End, cells: usize) -> Model {
        match end {
            Some(end) if elements.len() == cells => (**end).clone(),
            _ => Model::List(elements[cells..].to_vec(), end.clone()),
        }
    }

    fn rank(a: &Model) -> u8 {
        match a {
            Model::Int(_) | Model::Big(_) | Model::Beyond(_) | Model::Float(_) => 0,
            Model::Atom(_) => 1,
            Model::Opaque(Class::Timer, _) => 2,
            Model::Opaque(Class::Reference, _) => 3,
            Model::Opaque(Class::Function, _) => 4,
            Model::Opaque(Class::Port, _) => 5,
            Model::Address(_) => 6,
            Model::On(..) => 7,
            Model::Opaque(Class::Address, _) => 8,
            Model::Opaque(Class::Pid, _) => 9,
            Model::Tuple(_) => 10,
            Model::Map(_) => 11,
            Model::Opaque(Class::Map, _) => 12,
            Model::List(elements, _) if elements.is_empty() => 13,
            Model::List(..) => 14,
            Model::Bytes(_) | Model::Bits(..) => 15,
            Model::Opaque(..) => 16,
        }
    }
}

/// Fixnums, the special ones often.
pub(crate) fn fixnum() -> impl Strategy<Value = i64> {
    prop_oneof![
        -3i64..=3,
        FIXNUM_MIN..=FIXNUM_MAX,
        (0u32..62, -2i64..=2, any::<bool>()).prop_map(|(bits, off, negative)| {
            let n = (1i64 << bits) + off;
            if negative {
                -n
            } else {
                n
            }
        }),
        Just(FIXNUM_MIN),
        Just(FIXNUM_MIN + 1),
        Just(FIXNUM_MAX),
        Just(FIXNUM_MAX - 1),
    ]
}

/// Finite floats, the special ones often.
pub(crate) fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>()
            .prop_map(f64::from_bits)
            .prop_filter("finite", |f| f.is_finite()),
        fixnum().prop_map(|n| n as f64),
        (-20i32..20).prop_map(|n| f64::from(n) / 2.0),
        prop_oneof![
            Just(0.0),
            Just(-0.0),
            Just(5e-324),
            Just(f64::MIN_POSITIVE),
            Just(f64::MAX),
            Just(f64::MIN),
            Just(2f64.powi(62)),
            Just(-(2f64.powi(62))),
            Just(0.499_999_999_999_999_94),
        ],
    ]
}

const NAMES: [&str; 5] = ["a", "aa", "b", "nil", "B"];

/// Terms of every type, three levels deep, often equal or nearly so.
pub(crate) fn model() -> impl Strategy<Value = Model> {
    let big = prop_oneof![
        (0i128..3).prop_map(|n| (1 << 62) + n),
        (1i128..4).prop_map(|n| -(1 << 62) - n),
        (63u32..126, -2i128..=2).prop_map(|(bits, off)| (1i128 << bits) + off),
        (63u32..126, -2i128..=2).prop_map(|(bits, off)| off - (1i128 << bits)),
    ];
    let class = prop_oneof![
        Just(Class::Reference),
        Just(Class::Function),
        Just(Class::Port),
        Just(Class::Pid),
        Just(Class::Address),
        Just(Class::Timer),
        Just(Class::Map),
    ];
    let bytes = prop_oneof![
        proptest::collection::vec(0u8..2, 0..4),
        (250usize..262, 0u8..2).prop_map(|(n, byte)| vec![byte; n]),
    ];
    let bits = (proptest::collection::vec(any::<bool>(), 1..20), 0usize..8)
        .prop_filter("no whole bytes", |(bits, _)| bits.len() % 8 > 0)
        .prop_map(|(bits, before)| Model::Bits(bits, before));
    let leaf = prop_oneof![
        3 => (0i64..3).prop_map(Model::Int),
        2 => fixnum().prop_map(Model::Int),
        2 => big.prop_map(Model::Big),
        1 => any::<bool>().prop_map(Model::Beyond),
        2 => (0i32..3).prop_map(|n| Model::Float(f64::from(n))),
        2 => float().prop_map(Model::Float),
        2 => proptest::sample::select(&NAMES[..]).prop_map(Model::Atom),
        2 => (class, 0u8..3).prop_map(|(class, n)| Model::Opaque(class, n)),
        1 => (0usize..3).prop_map(Model::Address),
        1 => (proptest::sample::select(&NAMES[..]), 0usize..3).prop_map(|(s, n)| Model::On(s, n)),
        1 => Just(Model::List(vec![], None)),
        2 => bytes.prop_map(Model::Bytes),
        2 => bits,
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let some = proptest::collection::vec(inner.clone(), 0..4);
        let inner2 = inner.clone();
        prop_oneof![
            some.clone().prop_map(Model::Tuple),
            some.clone().prop_map(|models| Model::List(models, None)),
            (proptest::collection::vec(inner.clone(), 1..3), inner)
                .prop_map(|(models, end)| improper(models, end)),
            proptest::collection::vec((inner2.clone(), inner2), 0..4).prop_map(Model::Map),
        ]
    })
}

/// A list that ends in `end`, in the one form that the naive order understands: the end is not a list.
fn improper(mut models: Vec<Model>, end: Model) -> Model {
    match end {
        Model::List(more, end) => {
            models.extend(more);
            Model::List(models, end)
        }
        end => Model::List(models, Some(Box::new(end))),
    }
}
