//! The order of all terms, as far as it can be told without looking into tuples, lists and maps:
//!
//! ```text
//! number < atom < reference < function < port < pid < tuple < map < list < bitstring
//! ```
//!
//! as in Elixir, with these details of our own:
//!
//! * Integers and floats compare by their exact values, whatever their sizes.
//! * Addresses sort as pids: first actors' addresses, by where the actors are; then `on` references, by sponsor, then
//!   by address; then what else takes messages, such as customers; then pids of the BEAM.
//! * Functions of the language come before those of the outside, and sort by what they are (code/functions.rs) and what they have
//!   captured.
//! * Timers' references come before others, the older ones of a thread first; then those of other machines.
//! * Binaries come before other bitstrings (Elixir has them by their bits, but the bits of an opaque
//!   bitstring are unknown).
//! * Opaque values of one class compare as their [`Foreign`](crate::values::foreign::Foreign) says, for which `==` is `===`.
//!
//! As keys of maps, integers come before all floats, and equal keys are identical.
//!
//! Invariant: 0.0 and -0.0 are `==` and neither is less. Whether they are `===`, and so one key of a map and one literal of a
//! pattern, is the embedder's choice ([`distinguish_zeros`]). Everything that compares for identity asks here. As long as
//! they are two, a value without a cell is the same as its own word only. Otherwise 0.0, and nothing else, is an exception
//! ([`is_alone`]), because -0.0 is in a cell.
//!
//! The walk through tuples, lists and maps is in compare.rs.
use crate::values::big::Big;
use crate::values::foreign::Class;
use crate::values::value::{Value, FLONUM_ZERO};
use std::cmp::Ordering;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

/// True if 0.0 and -0.0 are two terms.
static TWO_ZEROS: AtomicBool = AtomicBool::new(true);

/// Says whether 0.0 and -0.0 are two different terms (`===`, patterns, keys of maps), for all machines. They are on later
/// releases of the BEAM, and a map cannot be carried between a node where they are and one where they are not. To be called
/// before any machine starts: code is compiled for the one or the other.
pub fn distinguish_zeros(two: bool) {
    // Relaxed: whoever starts a machine afterwards publishes this with it.
    TWO_ZEROS.store(two, Relaxed);
}

/// Returns whether 0.0 and -0.0 are two terms: see [`distinguish_zeros`].
#[inline(always)]
pub fn two_zeros() -> bool {
    TWO_ZEROS.load(Relaxed)
}

/// Returns whether a value is the same (`===`) as no other word than its own.
#[inline(always)]
pub fn is_alone(value: Value) -> bool {
    value.is_immediate() && (value.word() != FLONUM_ZERO || two_zeros())
}

/// The order of two leaves as keys; their words differ.
#[inline(always)]
pub(super) fn key_leaves(a: Value, b: Value) -> Ordering {
    match (a.as_atom(), b.as_atom()) {
        (Some(a), Some(b)) => a.name().cmp(b.name()),
        _ => key_leaves_slowly(a, b),
    }
}

fn key_leaves_slowly(a: Value, b: Value) -> Ordering {
    let (rank_a, rank_b) = (Rank::of(a), Rank::of(b));
    if rank_a != Rank::Number || rank_b != Rank::Number {
        return rank_a.cmp(&rank_b).then_with(|| within_rank(rank_a, a, b));
    }
    match (a.as_float(), b.as_float()) {
        (Some(x), Some(y)) if two_zeros() => x.total_cmp(&y),
        (Some(x), Some(y)) => floats(x, y),
        (None, None) => numbers(a, b),
        (x, y) => x.is_some().cmp(&y.is_some()),
    }
}

/// `===` of two leaves whose words differ.
pub(super) fn leaves_same(a: Value, b: Value) -> bool {
    // Only a cell can be the same as another cell; everything else but 0.0 is one word, and the words differ.
    if !a.is_boxed() || !b.is_boxed() {
        let is_zero = |value: Value| value.as_float() == Some(0.0);
        return !two_zeros() && is_zero(a) && is_zero(b);
    }
    match (a.as_float(), b.as_float()) {
        (Some(x), Some(y)) => x.to_bits() == y.to_bits(),
        (None, None) => {
            let rank = Rank::of(a);
            rank == Rank::of(b) && within_rank(rank, a, b).is_eq()
        }
        // A big integer may be `==` a float, but it is another type.
        _ => false,
    }
}

/// `==` of two leaves whose words differ.
pub(super) fn leaves_equal(a: Value, b: Value) -> bool {
    let (rank_a, rank_b) = (Rank::of(a), Rank::of(b));
    // Atoms are interned, so words tell; their names need not be looked up.
    rank_a == rank_b && rank_a != Rank::Atom && within_rank(rank_a, a, b).is_eq()
}

/// The order of two values that are not both tuples, both maps or both non-empty lists.
pub(super) fn order(a: Value, b: Value) -> Ordering {
    let (rank_a, rank_b) = (Rank::of(a), Rank::of(b));
    rank_a.cmp(&rank_b).then_with(|| within_rank(rank_a, a, b))
}

/// The types in their order. Values of different ranks are never equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Number,
    Atom,
    Timer,
    /// One of another machine.
    ForeignTimer,
    Reference,
    Function,
    ForeignFunction,
    Port,
    Address,
    On,
    /// An address of another kind.
    ForeignAddress,
    Pid,
    Tuple,
    Map,
    /// A map of the outside, which is not looked into.
    ForeignMap,
    EmptyList,
    List,
    Bitstring,
}

impl Rank {
    fn of(a: Value) -> Rank {
        if a.is_fixnum() || a.is_flonum() {
            Rank::Number
        } else if a == Value::EMPTY_LIST {
            Rank::EmptyList
        } else if a.is_immediate() {
            Rank::Atom
        } else if a.is_cons() {
            Rank::List
        } else if a.is_address() {
            Rank::Address
        } else if let Some(class) = a.foreign_class() {
            match class {
                Class::BigInteger => Rank::Number,
                Class::Timer => Rank::ForeignTimer,
                Class::Reference => Rank::Reference,
                Class::Function => Rank::ForeignFunction,
                Class::Port => Rank::Port,
                Class::Address => Rank::ForeignAddress,
                Class::Pid => Rank::Pid,
                Class::Map => Rank::ForeignMap,
                Class::Binary => Rank::Bitstring,
            }
        } else if a.as_tuple().is_some() {
            Rank::Tuple
        } else if a.as_map_node().is_some() {
            Rank::Map
        } else if a.as_function().is_some() {
            Rank::Function
        } else if a.as_float().is_some() || a.as_big().is_some() {
            Rank::Number
        } else if a.as_on().is_some() {
            Rank::On
        } else if a.as_timer().is_some() {
            Rank::Timer
        } else {
            Rank::Bitstring
        }
    }
}

/// The order of two leaves of the same rank.
fn within_rank(rank: Rank, a: Value, b: Value) -> Ordering {
    match rank {
        Rank::Number => numbers(a, b),
        Rank::Atom => name(a).cmp(name(b)),
        Rank::Address => a.word().cmp(&b.word()),
        Rank::On => match (a.as_on(), b.as_on()) {
            (Some((sponsor_a, address_a)), Some((sponsor_b, address_b))) => name(sponsor_a)
                .cmp(name(sponsor_b))
                .then_with(|| address_a.word().cmp(&address_b.word())),
            _ => Ordering::Equal,
        },
        Rank::Bitstring => a.as_bits().cmp(&b.as_bits()),
        Rank::Timer => a.as_timer().cmp(&b.as_timer()),
        Rank::ForeignTimer
        | Rank::Reference
        | Rank::ForeignFunction
        | Rank::Port
        | Rank::ForeignAddress
        | Rank::Pid
        | Rank::ForeignMap => foreigns(a, b),
        // Two of these are not leaves.
        Rank::Function | Rank::Tuple | Rank::Map | Rank::EmptyList | Rank::List => Ordering::Equal,
    }
}

fn name(a: Value) -> &'static str {
    a.as_atom().map_or("", |atom| atom.name())
}

fn foreigns(a: Value, b: Value) -> Ordering {
    match (a.as_foreign(), b.as_foreign()) {
        (Some(a), Some(b)) if Arc::ptr_eq(a, b) => Ordering::Equal,
        (Some(a), Some(b)) => a.compare(&**b),
        _ => Ordering::Equal,
    }
}

fn numbers(a: Value, b: Value) -> Ordering {
    match (Number::of(a), Number::of(b)) {
        (Number::Fixnum(x), Number::Fixnum(y)) => x.cmp(&y),
        (Number::Float(x), Number::Float(y)) => floats(x, y),
        (Number::Fixnum(x), Number::Float(y)) => integer_and_float(x, y),
        (Number::Float(x), Number::Fixnum(y)) => integer_and_float(y, x).reverse(),
        (Number::Big(x), Number::Big(y)) => x.cmp(&y),
        (Number::Big(x), Number::Float(y)) => x.compare_float(y),
        (Number::Float(x), Number::Big(y)) => y.compare_float(x).reverse(),
        (Number::Big(x), Number::Fixnum(_)) => sign(x.is_negative()),
        (Number::Fixnum(_), Number::Big(y)) => sign(y.is_negative()).reverse(),
        (Number::Foreign, Number::Foreign) => foreigns(a, b),
        (Number::Foreign, Number::Float(y)) => foreign_and_float(a, y),
        (Number::Float(x), Number::Foreign) => foreign_and_float(b, x).reverse(),
        (Number::Foreign, _) => sign_of_foreign(a),
        (_, Number::Foreign) => sign_of_foreign(b).reverse(),
    }
}

enum Number<'h> {
    Fixnum(i64),
    Float(f64),
    Big(Big<'h>),
    /// An integer that is too large to calculate with.
    Foreign,
}

impl<'h> Number<'h> {
    /// Returns the kind of number that a value of rank `Number` is.
    fn of(a: Value) -> Number<'h> {
        if let Some(n) = a.as_fixnum() {
            Number::Fixnum(n)
        } else if let Some(f) = a.as_float() {
            Number::Float(f)
        } else {
            a.as_big().map_or(Number::Foreign, Number::Big)
        }
    }
}

/// Floats are finite, so they always compare.
fn floats(x: f64, y: f64) -> Ordering {
    x.partial_cmp(&y).unwrap_or(Ordering::Equal)
}

fn integer_and_float(n: i64, f: f64) -> Ordering {
    const END: f64 = (1u64 << 62) as f64;
    // Outside of the fixnum range the float decides; within, its integer part is exact as an i64.
    if f >= END {
        return Ordering::Less;
    }
    if f < -END {
        return Ordering::Greater;
    }
    let whole = f.trunc();
    n.cmp(&(whole as i64)).then_with(|| floats(0.0, f - whole))
}

fn foreign_and_float(foreign: Value, f: f64) -> Ordering {
    (foreign.as_foreign()).map_or(Ordering::Equal, |foreign| foreign.compare_float(f))
}

/// A foreign integer is larger than all others, or less, so its sign decides.
fn sign_of_foreign(foreign: Value) -> Ordering {
    sign((foreign.as_foreign()).is_some_and(|foreign| foreign.is_negative()))
}

/// Returns how a number that is far from zero compares with one that is nearer.
fn sign(is_negative: bool) -> Ordering {
    match is_negative {
        true => Ordering::Less,
        false => Ordering::Greater,
    }
}
