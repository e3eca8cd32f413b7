//! The fork bomb without the BEAM: `cargo bench -p mote_vm --bench fork_bomb -- [DEPTH] [RUNS] [THREADS]`.
//!
//! Prints nanoseconds per actor, minimum and median over the runs, each on a fresh machine.
#[path = "../tests/support/encode.rs"]
mod encode;
#[path = "../tests/support/programs.rs"]
mod programs;
#[path = "../tests/support/world.rs"]
mod world;

use mote_vm::atom::Atom;
use mote_vm::parcel::Builder;
use std::time::Instant;

fn main() {
    let mut numbers = std::env::args().filter_map(|a| a.parse::<i64>().ok());
    let depth = numbers.next().unwrap_or(20);
    let runs = numbers.next().unwrap_or(5) as usize;
    let threads = numbers.next().unwrap_or(1) as usize;
    let unit = encode::encode(&programs::fork_bomb());
    let actors = (2i64 << depth) - 1;
    let mut times: Vec<f64> = (0..runs)
        .map(|_| run(&unit, depth, threads) / actors as f64)
        .collect();
    times.sort_by(f64::total_cmp);
    println!(
        "fork_bomb depth {depth}, {threads} threads: {:.1} ns/actor (median of {runs}, min {:.1}, max {:.1})",
        times[runs / 2],
        times[0],
        times[runs - 1]
    );
}

/// Nanoseconds from the first send to the last report.
fn run(unit: &[u8], depth: i64, threads: usize) -> f64 {
    let (machine, _world) = world::machine_with(&[("main", threads)]);
    machine.load(unit, &|_, _| None).expect("loads");
    let (node, _) = machine
        .behaviour(Atom::new("Test"), Atom::new("node"), 1)
        .expect("known");
    let (parent, reports) = world::mailbox();
    let mut captures = Builder::new();
    captures.tuple(1);
    captures.foreign(parent);
    let root = machine.create(node, None, captures.finish()).expect("room");
    let mut message = Builder::new();
    assert!(message.integer(depth));
    let start = Instant::now();
    assert!(machine.send(root, None, message.finish()));
    assert_eq!(reports.recv().expect("an answer"), ":done");
    let elapsed = start.elapsed();
    machine.stop();
    machine.join();
    if std::env::var_os("GC").is_some() {
        println!("{:?}", machine.info().gc);
    }
    if std::env::var_os("COUNTS").is_some() {
        for sponsor in machine.info().sponsors {
            for counts in sponsor.threads {
                println!("{:?}", counts.entries());
            }
        }
    }
    elapsed.as_nanos() as f64
}
