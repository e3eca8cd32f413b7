//! Loops whose rounds make other loops: native code makes several rounds beside each other (src/body/lanes.rs). Here
//! they end in each of them: by their count, by fuel, by depth, by what only one of them computes, on both tiers.

use crate::build::{abort, branch, call, is, k, mov, op, r, ret, says_each, tail, Build, MODULE};
use crate::encode::encode;
use crate::hearing::{heard_alike, Heard};
use mote_vm::code::ir::Constant;
use mote_vm::terms::prim::primitive::Primitive as P;
use mote_vm::values::value::FIXNUM_MAX;

/// Depth to which calls nest.
const DEPTH: i64 = 100_000;
const PLENTY: u64 = 1 << 40;
/// Rounds of more than two groups, and of a part of one.
const MANY: i64 = 10;

/// The computation of a round, from its counter and the value that it was handed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Round {
    /// A function of a float, with a fraction in it: before it a function of the platform.
    Erfc,
    /// Two consecutive fractions, the second of the first one's result.
    Two,
    /// A value handed on that is needed before the fraction.
    Early,
    /// A fraction of constants.
    Constants,
    /// A sum of integers, of the counter.
    Integers,
    /// A sum of integers that is too large at once.
    Far,
    /// A loop up to what it is passed.
    Up,
    /// A float that all rounds are handed, and the fraction's counter when it has ended.
    Fixed,
    /// One divided by a value that is zero in one of the rounds, and one divided by that: after the fraction.
    Hidden,
    /// Such divisions before the fraction, which is made of the result.
    Outside,
    /// A function of the platform that gets too large in one of the rounds.
    Large,
    /// A function of the platform that has no answer in one of the rounds.
    Log,
    /// The loop counts up, to what it is handed.
    Rising,
    /// A register that has held what the counter is next holds what a loop has come to.
    Reused,
    /// An inner loop that aborts in the round in which it would end.
    Stops,
}

const ROUNDS: [Round; 13] = [
    Round::Erfc,
    Round::Two,
    Round::Early,
    Round::Constants,
    Round::Integers,
    Round::Up,
    Round::Fixed,
    Round::Hidden,
    Round::Outside,
    Round::Large,
    Round::Log,
    Round::Rising,
    Round::Reused,
];

/// A trial: one loop for each number of rounds, with `parts` rounds of the inner loop. Something happens in the round whose counter is
/// `at`. It begins with `start`, `deep` calls down.
#[derive(Clone, Debug)]
struct Case {
    round: Round,
    rounds: Vec<i64>,
    parts: i64,
    at: i64,
    start: f64,
    deep: i64,
}

impl Case {
    fn of(round: Round, rounds: i64, parts: i64) -> Case {
        Case::each(round, [rounds], parts)
    }

    fn each(round: Round, rounds: impl IntoIterator<Item = i64>, parts: i64) -> Case {
        Case {
            round,
            rounds: rounds.into_iter().collect(),
            parts,
            at: 0,
            start: 0.0,
            deep: 0,
        }
    }

    fn compare(&self, fuel: u64) -> Heard {
        heard_alike(&self.unit(), fuel, &format!("{self:?} with {fuel}"))
    }

    fn unit(&self) -> Vec<u8> {
        let mut b = Build::new();
        let [zero, one, two, four, parts, deep, at] = [0, 1, 2, 4, self.parts, self.deep, self.at]
            .map(|integer| k(b.constant(Constant::Integer(integer))));
        let [start, half, unit, begin, hot, steep] = [self.start, 0.5, 1.0, 2.25, 800.0, -200.0]
            .map(|float| k(b.constant(Constant::Float(float))));
        let far = k(b.constant(Constant::Integer(FIXNUM_MAX - 1)));
        let uses = |b: &mut Build, name: &str, arity| b.uses(MODULE, name, arity);
        let [fraction, sum, up] = ["fraction", "sum", "up"].map(|name| uses(&mut b, name, 3));
        let stops = uses(&mut b, "stops", 3);
        let middle = uses(&mut b, "middle", 1);
        let outer = uses(&mut b, "outer", 3);

        let part = vec![
            is(r(0), zero, 2),
            ret(r(2)),
            op(4, P::Sub, [r(0), one]),
            op(3, P::Fdiv, [r(0), two]),
            op(3, P::Fdiv, [r(3), r(2)]),
            op(3, P::Add, [r(1), r(3)]),
            tail(fraction, [r(4), r(1), r(3)]),
        ];
        let adds = vec![
            is(r(0), zero, 3),
            op(2, P::Sub, [r(2), r(0)]),
            ret(r(2)),
            op(5, P::Sub, [r(0), one]),
            op(6, P::Add, [r(1), two]),
            op(3, P::Add, [r(2), r(0)]),
            op(4, P::Add, [r(3), r(1)]),
            tail(sum, [r(5), r(6), r(4)]),
        ];
        let rises = vec![
            op(3, P::Lt, [r(0), r(1)]),
            branch(r(3), 6),
            op(6, P::Add, [r(0), one]),
            op(4, P::Mul, [r(2), half]),
            op(5, P::Add, [r(4), r(0)]),
            tail(up, [r(6), r(1), r(5)]),
            op(4, P::Fdiv, [r(0), four]),
            op(4, P::Add, [r(4), r(2)]),
            ret(r(4)),
        ];
        let aborts = vec![
            is(r(0), zero, 2),
            abort(one),
            is(r(1), zero, 4),
            ret(r(2)),
            op(3, P::Sub, [r(0), one]),
            op(4, P::Sub, [r(1), one]),
            op(5, P::Mul, [r(2), half]),
            tail(stops, [r(3), r(4), r(5)]),
        ];
        let in_the_middle = match self.round {
            Round::Two => vec![
                call(1, fraction, [parts, r(0), r(0)]),
                op(2, P::Mul, [r(1), half]),
                call(3, fraction, [four, r(2), r(0)]),
                op(3, P::Sub, [r(3), r(1)]),
                ret(r(3)),
            ],
            Round::Log => vec![
                op(1, P::Log, [r(0)]),
                call(2, fraction, [parts, begin, unit]),
                op(2, P::Add, [r(1), r(2)]),
                ret(r(2)),
            ],
            _ => vec![
                op(1, P::Mul, [r(0), r(0)]),
                op(1, P::Neg, [r(1)]),
                op(1, P::Exp, [r(1)]),
                call(2, fraction, [parts, r(0), r(0)]),
                op(2, P::Mul, [begin, r(2)]),
                op(1, P::Fdiv, [r(1), r(2)]),
                ret(r(1)),
            ],
        };
        // How far the counter is from `at`.
        let off = op(3, P::Sub, [r(0), at]);
        let with_middle = vec![
            op(3, P::Fdiv, [r(0), four]),
            op(3, P::Add, [r(3), begin]),
            call(4, middle, [r(3)]),
            op(5, P::Add, [r(2), r(4)]),
        ];
        let computes = match self.round {
            Round::Erfc | Round::Two | Round::Rising => with_middle,
            Round::Early => vec![
                op(3, P::Fdiv, [r(0), four]),
                op(3, P::Add, [r(3), r(2)]),
                call(4, middle, [r(3)]),
                op(5, P::Mul, [r(4), half]),
            ],
            Round::Constants => vec![
                call(4, fraction, [parts, begin, half]),
                op(3, P::Mul, [r(2), half]),
                op(5, P::Add, [r(4), r(3)]),
            ],
            Round::Integers => vec![call(4, sum, [parts, r(0), at]), op(5, P::Add, [r(2), r(4)])],
            Round::Far => vec![call(4, sum, [parts, far, at]), op(5, P::Bxor, [r(2), r(4)])],
            Round::Up => vec![
                op(3, P::Fdiv, [r(0), four]),
                call(4, up, [two, parts, r(3)]),
                op(5, P::Sub, [r(4), r(2)]),
            ],
            Round::Fixed => vec![
                op(3, P::Fdiv, [r(0), four]),
                op(3, P::Add, [r(3), r(1)]),
                call(4, fraction, [parts, r(3), r(1)]),
                op(5, P::Mul, [r(2), half]),
                op(5, P::Add, [r(5), r(4)]),
            ],
            Round::Hidden => vec![
                call(4, fraction, [parts, begin, unit]),
                off,
                op(3, P::Fdiv, [unit, r(3)]),
                op(3, P::Fdiv, [unit, r(3)]),
                op(5, P::Add, [r(2), r(3)]),
            ],
            Round::Outside => vec![
                off,
                op(3, P::Fdiv, [r(3), four]),
                call(4, fraction, [parts, r(3), r(3)]),
                op(5, P::Add, [r(2), r(4)]),
            ],
            Round::Large => vec![
                off,
                op(3, P::Mul, [r(3), r(3)]),
                op(6, P::Mul, [steep, r(3)]),
                op(6, P::Add, [hot, r(6)]),
                op(6, P::Exp, [r(6)]),
                op(6, P::Mul, [r(6), half]),
                call(4, fraction, [parts, begin, unit]),
                op(6, P::Add, [r(6), r(4)]),
                op(5, P::Add, [r(2), r(6)]),
            ],
            Round::Reused => vec![
                op(6, P::Sub, [r(0), one]),
                call(6, sum, [parts, r(0), at]),
                op(3, P::Fdiv, [r(6), four]),
                op(5, P::Add, [r(2), r(3)]),
            ],
            Round::Stops => vec![
                call(4, stops, [parts, parts, begin]),
                op(5, P::Add, [r(2), r(4)]),
            ],
            Round::Log => vec![
                off,
                op(3, P::Fdiv, [r(3), four]),
                call(4, middle, [r(3)]),
                op(5, P::Add, [r(2), r(4)]),
            ],
        };
        let after = 2 + computes.len() as u32;
        let (going, step) = match self.round {
            Round::Rising => (
                vec![op(6, P::Lt, [r(0), r(1)]), branch(r(6), after + 2)],
                P::Add,
            ),
            _ => (vec![is(r(0), zero, 2), ret(r(2))], P::Sub),
        };
        // Before it is used as a float: then it is an integer.
        let goes_on = vec![op(7, step, [r(0), one])];
        let again = vec![tail(outer, [r(7), r(1), r(5)])];
        let ends = match self.round {
            Round::Rising => vec![ret(r(2))],
            _ => vec![],
        };
        let around = [going, goes_on, computes, again, ends].concat();
        let mut b = b
            .function("fraction", 3, part)
            .function("sum", 3, adds)
            .function("up", 3, rises)
            .function("stops", 3, aborts)
            .function("middle", 1, in_the_middle)
            .function("outer", 3, around);
        let mut calls = vec![];
        for rounds in &self.rounds {
            let name = format!("down{rounds}");
            let down = uses(&mut b, &name, 1);
            let rounds = k(b.constant(Constant::Integer(*rounds)));
            let (first, handed, start) = match self.round {
                Round::Rising => (zero, rounds, start),
                Round::Fixed => (rounds, begin, start),
                Round::Integers | Round::Far => (rounds, zero, at),
                _ => (rounds, zero, start),
            };
            let goes_down = vec![
                is(r(0), zero, 3),
                call(1, outer, [first, handed, start]),
                ret(r(1)),
                op(1, P::Sub, [r(0), one]),
                call(1, down, [r(1)]),
                mov(2, r(1)),
                ret(r(2)),
            ];
            b = b.function(&name, 1, goes_down);
            calls.push(call(1, down, [deep]));
        }
        encode(&b.behaviour("all", 0, says_each(calls)).0)
    }
}

/// Returns the messages of one turn with plenty of fuel, one for each number of rounds.
fn said(case: &Case) -> Vec<String> {
    let heard = case.compare(PLENTY);
    assert_eq!(
        heard.messages.len(),
        case.rounds.len(),
        "{case:?}: {heard:?}"
    );
    heard.messages
}

#[test]
fn the_count_ends_in_each_round() {
    for round in ROUNDS {
        for parts in [0, 1, 4] {
            let answers = said(&Case {
                at: -1,
                ..Case::each(round, 0..MANY, parts)
            });
            for (rounds, answer) in answers.iter().enumerate() {
                assert_ne!(answer, ":undefined", "{round:?}, {rounds} of {parts}");
            }
        }
        // So long that the first slice has fuel for one group at most, and the next ones for some.
        for (rounds, parts) in [(4, 60), (70, 60), (71, 3), (72, 5)] {
            said(&Case {
                at: -1,
                ..Case::of(round, rounds, parts)
            });
        }
    }
}

#[test]
fn one_round_is_not_usual() {
    let mut undefined = 0;
    for round in [Round::Hidden, Round::Outside, Round::Large, Round::Log] {
        // What is infinite after an odd number of parts is zero after one more.
        for parts in [0, 4, 5] {
            for rounds in [4, 9] {
                for at in 0..=rounds {
                    let answer = said(&Case {
                        at,
                        ..Case::of(round, rounds, parts)
                    });
                    let fine = at == 0 || round == Round::Outside && parts == 0;
                    let is = answer == [":undefined"];
                    // Fractions of what is negative may happen to divide by zero, too.
                    assert!(is != fine || round == Round::Outside, "{round:?}, {at}");
                    undefined += usize::from(is);
                }
            }
        }
    }
    assert!(undefined > 70, "{undefined}");
}

/// Checks that the first of two comparisons that would end a loop in the same round ends it.
#[test]
fn the_first_comparison_ends_a_loop() {
    for parts in [0, 1, 4] {
        for rounds in [1, 4, 9] {
            let heard = Case::of(Round::Stops, rounds, parts).compare(PLENTY);
            assert_eq!(heard.aborts.len(), 1, "{rounds} of {parts}: {heard:?}");
        }
    }
}

#[test]
fn what_is_handed_on_is_large_or_small() {
    for start in [f64::MAX, -f64::MAX, 1e300, -0.0, 5e-324, 1e-310] {
        for round in [Round::Erfc, Round::Constants, Round::Fixed, Round::Hidden] {
            said(&Case {
                at: -1,
                start,
                ..Case::each(round, [3, 4, 9], 3)
            });
        }
    }
    for parts in [0, 1, 2] {
        let answer = said(&Case {
            at: -(1 << 61),
            ..Case::of(Round::Far, 5, parts)
        });
        let big = answer[0].starts_with("Big {");
        assert_eq!(big, parts > 1, "{answer:?}");
    }
    // Integers that do not fit in one of the rounds.
    for at in [1 << 60, (1 << 61) - 2, (1 << 62) - 30, (1 << 62) - 1] {
        said(&Case {
            at,
            ..Case::each(Round::Integers, [3, 4, 9], 2)
        });
    }
}

#[test]
fn fuel_ends_at_each_call_and_round() {
    // Down, the outer loop, and in each of its rounds: itself, what it calls, and the rounds of that.
    let needed = |rounds: i64, parts: i64, calls: i64| (2 + rounds * (1 + calls + parts)) as u64;
    for (round, calls, more) in [
        (Round::Erfc, 2, 0),
        (Round::Two, 3, 4),
        (Round::Hidden, 1, 0),
    ] {
        for (rounds, parts) in [(0, 3), (4, 0), (9, 2)] {
            // What is hidden is so in the second group, which is given up and gives its fuel back.
            let case = Case {
                at: 3,
                ..Case::of(round, rounds, parts)
            };
            let needed = needed(rounds, parts + more, calls);
            for fuel in 1..=needed + 1 {
                let heard = case.compare(fuel);
                assert_eq!(heard.aborts.is_empty(), fuel >= needed, "{case:?}, {fuel}");
            }
        }
    }
    // Over the ends of slices, and where groups begin and end around them.
    let case = Case::of(Round::Erfc, 300, 30);
    let needed = needed(300, 30, 2);
    let around = |end: u64| end - 2..end + 3;
    let ends = [256, 512, 1_024, 2_048, 4_096, 8_192, needed];
    for fuel in ends.into_iter().flat_map(around) {
        let heard = case.compare(fuel);
        assert_eq!(heard.aborts.is_empty(), fuel >= needed, "{case:?}, {fuel}");
    }
}

#[test]
fn depth_ends_at_each_call() {
    for (round, calls) in [
        (Round::Erfc, 2),
        (Round::Constants, 1),
        (Round::Integers, 1),
    ] {
        // The function below, itself so often, the outer loop, and what that calls. All of the four rounds can be made abreast:
        // a plain one behind them would find out by itself.
        for deep in DEPTH - 7..DEPTH - 1 {
            let case = Case {
                deep,
                ..Case::of(round, 4, 3)
            };
            let heard = case.compare(PLENTY);
            let fits = deep + 2 + calls <= DEPTH;
            let expected = if fits { vec![] } else { vec![":stack"] };
            assert_eq!(heard.aborts, expected, "{case:?}");
        }
    }
}
