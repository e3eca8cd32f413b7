//! Conservation: whatever the number of threads and sponsors, every event is dispatched exactly once, turns are
//! atomic, and the results are the same.
//!
//! `MOTE_LONG=1` runs many more graphs. Under miri, which sees data races and weak memory, a small one.

use crate::graph::{self, next, token_message, Graph};
use crate::rig::{long, Rig, Tap};

type Setting = (&'static [(&'static str, usize)], [&'static str; 2]);

const SETTINGS: [Setting; 5] = [
    (&[("main", 1)], ["main", "main"]),
    (&[("main", 2)], ["main", "main"]),
    (&[("main", 4)], ["main", "main"]),
    (&[("east", 1), ("west", 1)], ["east", "west"]),
    (&[("east", 2), ("west", 2)], ["east", "west"]),
];

/// Sends the tokens from three threads at once, by either sponsor, and compares with the model.
fn run(setting: Setting, nodes: usize, tokens: usize, hops: i64, seed: i64) {
    let (sponsors, names) = setting;
    let rig = Rig::new(sponsors, graph::unit(names, true));
    let graph = Graph::random(nodes, seed);
    let tap = Tap::new();
    let keys = graph.build(&rig, &tap, Some(names[1]));
    let mut random = seed;
    let tokens: Vec<(usize, i64, i64)> = (0..tokens)
        .map(|_| {
            random = next(random);
            ((random >> 9) as usize % graph.len(), hops, random)
        })
        .collect();
    std::thread::scope(|scope| {
        for sender in 0..3 {
            let (rig, keys, tokens) = (&rig, &keys, &tokens);
            scope.spawn(move || {
                for (n, (at, hops, random)) in tokens.iter().enumerate().skip(sender).step_by(3) {
                    let name = names[n % 2];
                    rig.send_by(name, keys[*at], token_message(*hops, *random));
                }
            });
        }
    });
    rig.quiet();
    let counts = rig.machine.info().counts();
    let expected = graph.expect(&tokens, true);
    assert_eq!(
        graph.outcome(&rig, &keys, &tap),
        expected,
        "{sponsors:?} {seed}"
    );
    assert_eq!(counts.foreign_in, (nodes + tokens.len()) as u64);
    assert_eq!(counts.foreign_out, expected.spent);
    assert_eq!(
        (counts.dropped, counts.undelivered, counts.ignored),
        (0, 0, 0)
    );
    // Every event came from somewhere, once.
    let within = counts.sends - counts.foreign_out;
    assert_eq!(counts.turns, within + counts.foreign_in);
    println!(
        "{sponsors:?}: {} turns, forwarded {}, taken over {}, migrations {}, given {}, moved {}",
        counts.turns,
        counts.forwarded,
        counts.taken_over,
        counts.migrations,
        counts.shares_given,
        counts.sendx
    );
}

fn runs(setting: Setting) {
    if cfg!(miri) {
        return run(setting, 6, 12, 12, 1);
    }
    let rounds = if long() { 300 } else { 6 };
    for round in 0..rounds {
        let seed = 1 + round * 7919;
        run(setting, 64, 300, 80, seed);
        // Few actors: the same ones are wanted everywhere.
        run(setting, 8, 100, 150, seed + 1);
    }
}

#[test]
fn one_thread() {
    runs(SETTINGS[0]);
}

#[test]
fn two_threads() {
    runs(SETTINGS[1]);
}

#[test]
fn four_threads() {
    runs(SETTINGS[2]);
}

#[test]
fn two_sponsors() {
    runs(SETTINGS[3]);
}

#[test]
fn two_sponsors_of_two_threads() {
    runs(SETTINGS[4]);
}
