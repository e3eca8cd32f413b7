//! Memory that ends in the middle of a primitive, at each of its allocations, and fuel that does not last for one.
use crate::base::atom::Atom;
use crate::heap::Heap;
use crate::native::helper;
use crate::terms::map;
use crate::terms::prim::lists::from_slice;
use crate::terms::prim::primitive::Primitive;
use crate::terms::view::View;
use crate::testing::still::Still;
use crate::turns::interpreter::{no_answer, primitive};
use crate::turns::turn::exchange::Stop;
use crate::turns::turn::Turn;
use crate::values::term::Term;
use crate::values::value::Value;

/// A tier's way to run a primitive. Returns a value, `NONE` where there is no answer, or the reason why the turn is aborted.
type RunsPrimitive = fn(&mut Turn, Primitive, [Value; 3]) -> Result<Value, Value>;

const TIERS: [(&str, RunsPrimitive); 2] = [("interpreted", interpreted), ("native", native)];

fn interpreted(turn: &mut Turn, p: Primitive, arguments: [Value; 3]) -> Result<Value, Value> {
    let value = primitive(turn, p, arguments).map_err(|aborted| aborted.0)?;
    if !value.is_none() {
        return Ok(value);
    }
    no_answer(turn).map_err(|aborted| aborted.0)?;
    Ok(value)
}

fn native(turn: &mut Turn, p: Primitive, arguments: [Value; 3]) -> Result<Value, Value> {
    helper(turn, p, arguments).map_err(|()| {
        assert!(
            turn.exchange.halt.stop == Stop::Aborted,
            "{:?}",
            turn.exchange.halt.stop
        );
        turn.exchange.halt.reason
    })
}

/// Creates one of each kind of arguments that primitives make much of.
fn arguments(heap: &mut Heap) -> Vec<Value> {
    let atom = |name| Value::atom(Atom::new(name));
    let number = Value::fixnum;
    let large = |heap: &mut Heap, n: i64, by: i64| {
        let entries = (0..n).map(|i| (number(i), number(i * by))).collect();
        map::from_entries(heap, entries)
    };
    let wide = heap.wide_integer(1 << 63);
    let numbers: Vec<Value> = (0..70).map(number).collect();
    let list = from_slice(heap, &numbers);
    let pairs: Vec<Value> = (0..70).map(|i| heap.tuple(2, |_| number(i))).collect();
    let mut bytes = vec![0xFF; 320];
    bytes[7] = 0x7F;
    let floats: Vec<u8> = (0..70u32)
        .flat_map(|i| f64::from(i).to_le_bytes())
        .collect();
    let wides: Vec<u8> = (0..70i64)
        .flat_map(|i| (i64::MIN + i).to_le_bytes())
        .collect();
    let (whole, many) = (2, 4 << 5);
    let text = heap.bytes(&bytes);
    vec![
        large(heap, 400, 1),
        large(heap, 20, 2),
        large(heap, 70, 3),
        list,
        from_slice(heap, &pairs),
        from_slice(heap, &[text; 2]),
        heap.cons(number(1), number(2)),
        heap.tuple(70, |i| number(i as i64)),
        heap.bytes(&bytes),
        heap.bytes(&bytes[..70]),
        vector(heap, "f64", &floats),
        vector(heap, "i64", &wides),
        heap.float(1.0e300),
        wide,
        number(3),
        number(33),
        heap.tuple(2, |_| text),
        heap.tuple(2, |_| number(whole)),
        heap.tuple(2, |_| number(many)),
        heap.tuple(2, |i| [atom("u"), number(8)][i]),
        atom("f64"),
        atom("i64"),
        atom("add"),
    ]
}

fn vector(heap: &mut Heap, kind: &str, bytes: &[u8]) -> Value {
    let atom = |name| Value::atom(Atom::new(name));
    let binary = heap.bytes(bytes);
    let entries = vec![
        (atom("__struct__"), atom("Elixir.Mote.Vector")),
        (atom("binary"), binary),
        (atom("type"), atom(kind)),
    ];
    map::from_entries(heap, entries)
}

/// All choices of as many arguments as a primitive takes.
fn choices(all: &[Value], arity: usize) -> Vec<[Value; 3]> {
    let mut choices = vec![[Value::NONE; 3]];
    for at in 0..arity {
        let longer = choices.iter().flat_map(|choice| {
            all.iter().map(move |value| {
                let mut choice = *choice;
                choice[at] = *value;
                choice
            })
        });
        choices = longer.collect();
    }
    choices
}

/// Looks at all of a term.
fn look_at(term: Term<'_>) -> usize {
    let mut rest = vec![term];
    let mut seen = 0;
    while let Some(term) = rest.pop() {
        seen += 1;
        match term.view() {
            View::Cons(head, tail) => rest.extend([tail, head]),
            View::Tuple(elements) => rest.extend(elements.iter()),
            View::Map(map) => map
                .iter()
                .for_each(|(key, value)| rest.extend([key, value])),
            View::Bytes(bytes) => seen += bytes.len(),
            View::Bits(bits) => seen += bits.bytes(),
            View::Big(big) => seen += big.limbs().len(),
            _ => {}
        }
    }
    seen
}

/// Refuses the allocations of a primitive, each in turn. Returns their number.
fn refuse_each(turn: &mut Turn, tier: RunsPrimitive, p: Primitive, arguments: [Value; 3]) -> usize {
    for n in 0.. {
        turn.heap.refused_after = Some(n);
        let answer = tier(turn, p, arguments);
        let refused = turn.heap.refused_after.take().is_none();
        let name = p.name();
        match answer {
            Err(reason) if refused => {
                assert!(reason == Value::atom(Atom::NO_MEMORY), "{name}: {reason:?}")
            }
            Ok(_) if refused => panic!("{name} answers, without memory"),
            Err(reason) => panic!("{name} is aborted for {reason:?}"),
            Ok(value) if !value.is_none() => assert!(look_at(Term::new(value)) > 0),
            Ok(_) => {}
        }
        turn.abort();
        turn.tidy_up();
        if !refused {
            return n;
        }
    }
    unreachable!("some allocation is the last one")
}

#[test]
#[cfg_attr(miri, ignore = "too many")]
fn a_turn_ends_at_whichever_allocation_is_refused() {
    let mut still = Still::new(1);
    let turn = &mut still.thread.turn;
    let all = arguments(&mut turn.heap);
    turn.savepoint.heap = turn.heap.position();
    turn.allow(1 << 40);
    let mut silent = Vec::new();
    for (tier, run) in TIERS {
        for p in Primitive::ALL {
            let choices = choices(&all, p.arity());
            let made = choices
                .into_iter()
                .map(|chosen| refuse_each(turn, run, *p, chosen));
            if made.max() == Some(0) {
                silent.push((tier, p.name()));
            }
        }
    }
    for argument in all {
        assert!(look_at(Term::new(argument)) > 0);
    }
    let allocates = |name: &str| !silent.iter().any(|(_, silent)| *silent == name);
    for name in [
        "map_merge",
        "bin_of",
        "binary_join",
        "vec_to_list",
        "vec_sort",
        "sort",
        "keysort",
        "append",
        "subtract",
    ] {
        assert!(allocates(name), "{name} was given nothing to allocate for");
    }
}

/// A primitive that costs more than there is left is not begun, as where a caller stands in for a thread.
#[test]
fn what_cannot_be_paid_is_not_begun() {
    use Primitive as P;
    let mut still = Still::new(1);
    let turn = &mut still.thread.turn;
    let heap = &mut turn.heap;
    let number = Value::fixnum;
    let atom = |name| Value::atom(Atom::new(name));
    let floats: Vec<u8> = (0..9_000u32)
        .flat_map(|i| f64::from(i).to_le_bytes())
        .collect();
    let (vector, binary) = (vector(heap, "f64", &floats), heap.bytes(&floats));
    let tuple = heap.tuple(9_000, |i| number(i as i64));
    let entries = (0..9_000).map(|i| (number(i), number(i)));
    let map = map::from_entries(heap, entries.collect());
    let pairs: Vec<Value> = (0..9_000).map(|i| heap.tuple(1, |_| number(-i))).collect();
    let list = from_slice(heap, &pairs);
    let tree = (0..60).fold(number(1), |below, _| heap.tuple(2, |_| below));
    let (values, specs) = (heap.tuple(1, |_| binary), heap.tuple(1, |_| number(2)));
    let texts = from_slice(heap, &[binary; 2]);
    let (none, one) = (Value::NONE, number(1));
    let expensive = [
        (P::VecSort, [vector, none, none]),
        (P::Sort, [list, none, none]),
        (P::Keysort, [one, list, none]),
        (P::VecMap2, [atom("add"), vector, vector]),
        (P::VecConcat, [vector, vector, none]),
        (P::VecToList, [vector, none, none]),
        (P::VecSum, [vector, none, none]),
        (P::VecFromBinary, [atom("f64"), binary, none]),
        (P::BinOf, [values, specs, none]),
        (P::BinaryJoin, [texts, binary, none]),
        (P::BinSlice, [binary, one, number(9_000)]),
        (P::MapKeys, [map, none, none]),
        (P::ToList, [map, none, none]),
        (P::MapMerge, [map, map, none]),
        (P::MapOf, [tuple, none, none]),
        (P::MapPut, [map, tree, one]),
        (P::MapUpdate, [map, tree, one]),
        (P::MapDelete, [map, tree, none]),
        (P::MapGet, [map, tree, one]),
        (P::MapFetch, [map, tree, none]),
        (P::MapHasKey, [map, tree, none]),
        (P::PutElem, [tuple, one, one]),
        (P::TupleToList, [tuple, none, none]),
    ];
    turn.savepoint.heap = turn.heap.position();
    for (tier, run) in TIERS {
        for (p, arguments) in expensive {
            turn.allow(200);
            turn.heap.refused_after = Some(0);
            let answer = run(turn, p, arguments);
            let name = p.name();
            assert!(
                answer == Err(Value::atom(Atom::FUEL)),
                "{name} {tier}: {answer:?}"
            );
            assert!(
                turn.heap.refused_after.take().is_some(),
                "{name} {tier} has begun"
            );
            assert_eq!(turn.tidy_up(), 200);
        }
    }
}
