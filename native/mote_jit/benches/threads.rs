//! One thread beside two, on machines that live on: `cargo bench -p mote_jit --bench threads -- DEPTH ROUNDS`.
//!
//! Fork bombs of one depth, again and again and in turns on a machine with one thread and on one with two. Prints
//! nanoseconds per actor, least and median, and the ratio of the medians. COUNTS shows what the threads did.
#[path = "../../mote_vm/tests/support/build.rs"]
mod build;
#[path = "../tests/support/compiler.rs"]
mod compiler;
#[path = "../../mote_vm/tests/support/encode.rs"]
mod encode;
#[path = "../../mote_vm/tests/support/programs.rs"]
mod programs;
#[path = "../../mote_vm/tests/support/world.rs"]
mod world;

use mote_vm::base::atom::Atom;
use mote_vm::boundary::parcel::Builder;
use mote_vm::machine::{BehaviourVersion, Machine};
use std::time::Instant;

fn once(machine: &Machine, node: &BehaviourVersion, depth: i64) -> f64 {
    let (parent, reports) = world::mailbox();
    let mut captures = Builder::new();
    captures.tuple(1);
    captures.foreign(parent);
    let root = machine.create(node, None, captures.finish()).expect("room");
    let mut message = Builder::new();
    assert!(message.integer(depth));
    let start = Instant::now();
    machine.send(root, None, message.finish()).expect("room");
    assert_eq!(reports.recv().expect("an answer"), ":done");
    start.elapsed().as_nanos() as f64
}

fn main() {
    let mut numbers = std::env::args().filter_map(|a| a.parse::<i64>().ok());
    let depth = numbers.next().unwrap_or(15);
    let rounds = numbers.next().unwrap_or(20) as usize;
    let unit = encode::encode(&programs::fork_bomb());
    let machines = [1, 2].map(|threads| {
        let (machine, world) = world::usual_machine(&[("main", threads)]);
        machine.load(&unit, &|_, _| None).expect("loads");
        machine.wait_for_compiler();
        let (node, _) = machine
            .behaviour(Atom::new("Test"), Atom::new("node"), 1)
            .expect("known");
        (machine, world, node)
    });
    let actors = ((2i64 << depth) - 1) as f64;
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..rounds + 3 {
        for (at, (machine, _, node)) in machines.iter().enumerate() {
            let time = once(machine, node, depth) / actors;
            if round >= 3 {
                times[at].push(time);
            }
        }
    }
    times.iter_mut().for_each(|t| t.sort_by(f64::total_cmp));
    let [one, two] = times.map(|t| (t[0], t[t.len() / 2]));
    println!(
        "depth {depth}: one {:.1} (least {:.1}), two {:.1} (least {:.1}), ratio {:.2} (of the least {:.2})",
        one.1,
        one.0,
        two.1,
        two.0,
        one.1 / two.1,
        one.0 / two.0
    );
    if std::env::var_os("COUNTS").is_some() {
        for counts in machines[1]
            .0
            .info()
            .sponsors
            .iter()
            .flat_map(|s| &s.threads)
        {
            println!("{:?}", counts.entries());
        }
    }
}
