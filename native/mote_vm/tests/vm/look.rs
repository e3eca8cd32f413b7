//! Looking inside of a machine whose threads come and go.

use crate::programs::Assembler;
use crate::rig::{integers, Rig, PATIENCE};
use crate::world;
use mote_vm::code::ir::{Instr, Unit};
use std::sync::mpsc::channel;
use std::time::Instant;

/// `idle()`: does nothing with whatever comes.
fn unit() -> Unit {
    let mut a = Assembler::default();
    a.behaviour("idle", 0, 1, vec![Instr::Done]);
    a.unit()
}

fn begin(rig: &Rig, id: u64) {
    let (tell, told) = channel();
    rig.machine.survey(move |survey| {
        survey.begin_watch(id, Instant::now() + PATIENCE);
        let _ = tell.send(());
    });
    told.recv_timeout(PATIENCE).expect("begun");
}

/// Returns all turns, and those of the actor that had most.
fn end(rig: &Rig, id: u64) -> (u64, Option<u64>) {
    let (tell, told) = channel();
    rig.machine.survey(move |survey| {
        let counted = survey.end_watch(id, 1);
        let _ = tell.send((counted.turns, counted.actors.first().map(|a| a.figure)));
    });
    told.recv_timeout(PATIENCE).expect("ended")
}

fn turns(rig: &Rig, sponsor: &str, n: usize) {
    let idle = rig.create("idle", 0, |_| ());
    for _ in 0..n {
        rig.send_by(sponsor, idle, integers(&[0]));
    }
    rig.quiet();
}

#[test]
fn a_watch_counts_the_turns_of_threads_that_begin_while_it_is_on() {
    let rig = Rig::new(&[("main", 1)], unit());
    begin(&rig, 1);
    rig.machine
        .add_sponsor(&world::sponsor("late", 2))
        .expect("added");
    begin(&rig, 2);
    turns(&rig, "late", 10);
    assert_eq!(end(&rig, 1), (10, Some(10)));
    turns(&rig, "main", 3);
    assert_eq!(end(&rig, 2), (13, Some(10)));
    // What is over is not counted any more, nor taken up by others.
    rig.machine
        .add_sponsor(&world::sponsor("later", 1))
        .expect("added");
    turns(&rig, "later", 5);
    assert_eq!(end(&rig, 1), (0, None));
    assert_eq!(end(&rig, 2), (0, None));
}
