//! One turn of a unit of the compiler's, without the BEAM:
//! `cargo bench -p mote_jit --bench unit -- FILE BEHAVIOUR N [RUNS]`.
//!
//! FILE is what `module.__mote__(:unit)` gives; the behaviour captures its customer alone, gets N, and sends one answer.
//! Prints nanoseconds from the send to the answer, minimum and median. For callgrind, too: see guides/internals/native-details.md.
#[path = "../tests/support/compiler.rs"]
mod compiler;
#[path = "../../mote_vm/tests/support/world.rs"]
mod world;

use mote_vm::base::atom::Atom;
use mote_vm::boundary::parcel::Builder;
use mote_vm::code::decode::decode;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().filter(|a| a != "--bench").collect();
    let [_, file, behaviour, n, runs @ ..] = &arguments[..] else {
        panic!("usage: unit FILE BEHAVIOUR N [RUNS]");
    };
    let bytes = std::fs::read(file).expect("a file that can be read");
    let module = decode(&bytes).expect("a unit").module;
    let n: i64 = n.parse().expect("N is an integer");
    let runs: usize = runs
        .first()
        .map_or(1, |r| r.parse().expect("RUNS is a number"));
    let (machine, _world) = world::machine();
    machine.load(&bytes, &|_, _| None).expect("loads");
    machine.wait_for_compiler();
    let found = machine.behaviour(Atom::new(&module), Atom::new(behaviour), 1);
    let (worker, _) = found.expect("the unit has that behaviour, with one capture");
    let (customer, answers) = world::mailbox();
    let mut captures = Builder::new();
    captures.tuple(1);
    captures.foreign(customer);
    let worker = machine.create(&worker, None, captures.finish());
    let worker = worker.expect("room");
    let mut times = Vec::new();
    for _ in 0..runs.max(1) {
        let mut message = Builder::new();
        assert!(message.integer(n));
        let start = Instant::now();
        let sent = machine.send(worker, None, message.finish());
        sent.expect("room");
        let answer = answers.recv().expect("an answer");
        times.push((start.elapsed().as_nanos(), answer));
    }
    machine.stop();
    machine.join();
    times.sort();
    let (least, answer) = &times[0];
    let median = times[times.len() / 2].0;
    println!(
        "{behaviour} of {n}: {least} ns at least, median {median} of {runs}; {answer}",
        runs = times.len()
    );
}
