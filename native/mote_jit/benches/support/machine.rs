//! A run of the fork bomb on a machine of its own, without the BEAM.
use crate::world;
use mote_vm::base::atom::Atom;
use mote_vm::boundary::parcel::Builder;
use std::time::Instant;

/// Nanoseconds from the first send to the last report. `GC` and `COUNTS` in the environment show what the machine says
/// of itself.
pub fn fork_bomb(unit: &[u8], depth: i64, threads: usize) -> f64 {
    let (machine, _world) = world::machine_with(&[("main", threads)]);
    machine.load(unit, &|_, _| None).expect("loads");
    machine.wait_for_compiler();
    let (node, _) = machine
        .behaviour(Atom::new("Test"), Atom::new("node"), 1)
        .expect("known");
    let (parent, reports) = world::mailbox();
    let mut captures = Builder::new();
    captures.tuple(1);
    captures.foreign(parent);
    let root = machine
        .create(&node, None, captures.finish())
        .expect("room");
    let mut message = Builder::new();
    assert!(message.integer(depth));
    let start = Instant::now();
    machine.send(root, None, message.finish()).expect("room");
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
