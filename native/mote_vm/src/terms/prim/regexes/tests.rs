//! What is found, and what it costs.
use super::*;
use crate::terms::prim::lists::Elements;
use crate::testing::terms::heap;
use proptest::prelude::*;

/// The places of a match, or what there is instead.
fn places(source: &[u8], options: &[u8], text: &[u8], at: i64) -> Result<Vec<(i64, i64)>, Value> {
    let mut heap = heap();
    let pattern = [heap.bytes(source), heap.bytes(options)];
    let pattern = heap.tuple(2, |i| pattern[i]);
    let text = heap.bytes(text);
    let found = regex_run(&mut heap, pattern, text, Value::fixnum(at));
    if found.is_none() || found == Value::NIL {
        return Err(found);
    }
    let number = |value: Value| value.as_fixnum().unwrap();
    let pairs = Elements::of(found).map(|pair| pair.as_tuple().unwrap());
    Ok(pairs
        .map(|pair| (number(pair[0]), number(pair[1])))
        .collect())
}

#[test]
fn the_first_way_that_leads_to_a_match_counts() {
    assert_eq!(places(b"a|ab", b"", b"xab", 0), Ok(vec![(1, 1)]));
    assert_eq!(
        places(b"(a|ab)(c|bcd)(d*)", b"", b"abcd", 0),
        Ok(vec![(0, 4), (0, 1), (1, 3), (4, 0)])
    );
    assert_eq!(
        places(b"(?<n>b)?a", b"", b"a", 0),
        Ok(vec![(0, 1), (-1, 0), (-1, 0)])
    );
    assert_eq!(places(b"a+?", b"", b"aaa", 1), Ok(vec![(1, 1)]));
    assert_eq!(places(b"a++a", b"", b"aaa", 0), Err(Value::NIL));
    assert_eq!(places(b"(?<=ab|c)d", b"", b"abd", 0), Ok(vec![(2, 1)]));
    assert_eq!(places(b"^b$", b"m", b"a\nb\nc", 0), Ok(vec![(2, 1)]));
    assert_eq!(places(b"a$", b"", b"a\n", 0), Ok(vec![(0, 1)]));
    assert_eq!(
        places(".".as_bytes(), b"u", "é".as_bytes(), 0),
        Ok(vec![(0, 2)])
    );
}

#[test]
fn what_is_not_certain_has_no_answer() {
    let unknown = [
        (&b"\\p{L}"[..], &b"u"[..], "a"),
        (b"a**", b"", "a"),
        (b"(", b"", "a"),
        (b"a", b"e", "a"),
        (b"\\w", b"u", "\u{300}"),
    ];
    for (source, options, text) in unknown {
        assert_eq!(
            places(source, options, text.as_bytes(), 0),
            Err(Value::NONE),
            "{source:?}"
        );
    }
    assert_eq!(places(b"a", b"u", b"\xFFa", 0), Err(Value::NONE));
    assert_eq!(places(b"a", b"", b"a", 2), Err(Value::NONE));
}

#[test]
fn a_thread_keeps_the_programs_that_were_used_last() {
    for n in 0..3 * KEPT {
        let source = format!("a{{{n}}}b");
        let text = "a".repeat(n) + "b";
        assert_eq!(
            places(source.as_bytes(), b"", text.as_bytes(), 0),
            Ok(vec![(0, n as i64 + 1)])
        );
    }
    PROGRAMS.with_borrow(|kept| assert_eq!(kept.len(), KEPT));
}

#[test]
fn a_way_that_goes_back_for_ever_ends_with_the_fuel() {
    let mut heap = heap();
    let pattern = [heap.bytes(b"^(a+)+$"), heap.bytes(b"")];
    let pattern = heap.tuple(2, |i| pattern[i]);
    let text = heap.bytes("a".repeat(60).as_bytes());
    let found = regex_run(&mut heap, pattern, text, Value::fixnum(0));
    assert!(!found.is_none());
    let text = heap.bytes(("a".repeat(60) + "!").as_bytes());
    heap.work.allow(10_000);
    assert!(regex_run(&mut heap, pattern, text, Value::fixnum(0)).is_none());
}

/// The places of all matches, and the elements that were counted for them.
fn all(source: &str, options: &str, text: &str) -> (Vec<Vec<(i64, i64)>>, u64) {
    let mut heap = heap();
    let pattern = [
        heap.bytes(source.as_bytes()),
        heap.bytes(options.as_bytes()),
    ];
    let pattern = heap.tuple(2, |i| pattern[i]);
    let text = heap.bytes(text.as_bytes());
    heap.work.allow(u64::MAX);
    let found = regex_run(&mut heap, pattern, text, Value::fixnum(-1));
    assert!(!found.is_none(), "{source:?}");
    let number = |value: Value| value.as_fixnum().unwrap();
    let places = |found| {
        Elements::of(found)
            .map(|pair| pair.as_tuple().unwrap())
            .map(|pair| (number(pair[0]), number(pair[1])))
            .collect()
    };
    let mut found: Vec<_> = Elements::of(found).map(places).collect();
    found.reverse();
    (found, heap.work.price())
}

#[test]
fn behind_an_empty_match_there_may_be_another_one_at_the_same_place() {
    let found = |source, text| {
        let (found, _) = all(source, "u", text);
        let firsts = found.iter().map(|places| places[0]);
        firsts.collect::<Vec<_>>()
    };
    assert_eq!(found("(?=b)|b", "ab"), [(1, 0), (1, 1)]);
    assert_eq!(found("a*?", "aé"), [(0, 0), (0, 1), (1, 0), (3, 0)]);
    assert_eq!(found("", ""), [(0, 0)]);
    assert_eq!(found("b", "aa"), []);
    // A group that took part in the match before takes none in the next one.
    assert_eq!(
        all("(a)?b", "", "abb").0,
        [vec![(0, 2), (0, 1)], vec![(2, 1), (-1, 0)]]
    );
}

#[test]
fn sets_and_groups_cost_as_much_as_they_are_large() {
    let price = |source: &str, text: &str| all(source, "", text).1;
    let text = "x".repeat(5_000);
    let set = format!("[{}]", "ab".repeat(500));
    assert!(price(&set, &text) > 50 * price("[ab]", &text));
    let groups = format!("x{}", "(a)?".repeat(500));
    assert!(price(&groups, &text) > 50 * price("x(a)?", &text));
    // A program that is long because of what it repeats; and one that is too long costs as much as the longest.
    assert!(price("y(?:ab){500}", "x") > 20 * price("y(?:ab)", "x"));
    let mut heap = heap();
    let pattern = [heap.bytes(b"(?:(?:ab){900}){900}"), heap.bytes(b"")];
    let pattern = heap.tuple(2, |i| pattern[i]);
    heap.work.allow(u64::MAX);
    assert!(regex_names(&mut heap, pattern).is_none());
    assert!(heap.work.price() >= INSTRUCTIONS as u64 / 8);
}

const PARTS: &[&str] = &[
    "a", "b", "é", "[ab]", "[^a]", "\\d", "(a)", "(?:a|b)", "a?", "b{1,3}", "(?<=a)", "^", "$",
    "\\b", ".", "(?>a|ab)", "(b)??", "(?!b)", "(a|b)\\1",
];

/// Patterns that try no more than a few characters at each place.
fn patterns() -> impl Strategy<Value = String> {
    let part = proptest::sample::select(PARTS);
    let sequence = proptest::collection::vec(part, 0..5).prop_map(|parts| parts.concat());
    // Only the groups of one alternative have numbers that are known.
    (
        sequence,
        proptest::sample::select(&["", "|a", "|", "|\\w"][..]),
    )
        .prop_map(
            |(a, b)| match a.contains("\\1") && a.find('(') != a.find("(a|b)") {
                true => format!("a{b}"),
                false => a + b,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 300 }))]

    #[test]
    fn all_matches_cost_no_more_than_the_text_is_long(
        source in patterns(),
        text in "[ab1é ]{1,8}",
        options in proptest::sample::select(&["", "u", "um", "us"][..]),
    ) {
        let options = if source.contains('é') { "u" } else { options };
        let (_, once) = all(&source, options, &text.repeat(64));
        let (found, more) = all(&source, options, &text.repeat(64 * 16));
        // The first elements cost nothing, and the last ones are not counted.
        prop_assert!(more <= 17 * (once + 40), "{source} {text}: {once}, {more}");
        let walked = (64 * 16 * text.len()) as u64;
        prop_assert!(more <= 40 * walked, "{source} {text}: {more} for {walked}");
        prop_assert!(found.windows(2).all(|pair| pair[0][0] < pair[1][0]));
    }
}
