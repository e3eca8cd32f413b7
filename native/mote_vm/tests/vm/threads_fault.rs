//! A panic in a turn ends the machine with a report, never the process.

use crate::build::{send, send_after};
use crate::programs::{r, Assembler};
use crate::rig::{foreign, integers, until, Rig, Tap, PATIENCE};
use mote_vm::code::ir::{Instr, Unit};
use std::sync::mpsc::channel;

/// `tell(tap)`: passes on. `endless()`: never has nothing to do.
fn unit() -> Unit {
    let mut a = Assembler::default();
    a.behaviour("tell", 1, 2, vec![send(r(0), r(1)), Instr::Done]);
    let me = Instr::SelfAddress { dst: 1 };
    a.behaviour("endless", 0, 2, vec![me, send(r(1), r(0)), Instr::Done]);
    let after = send_after(2, r(1), r(0), r(1));
    a.behaviour("later", 1, 3, vec![after, Instr::Done]);
    a.unit()
}

/// A machine with all its threads busy.
fn busy() -> Rig {
    let rig = Rig::new(&[("east", 2), ("west", 1)], unit());
    for sponsor in ["east", "west"] {
        let endless = rig.create_on(sponsor, "endless", 0, |_| ());
        rig.send(endless, integers(&[1]));
    }
    until(|| rig.threads("east")[0].turns > 1000 && rig.threads("west")[0].turns > 1000);
    rig
}

fn fault(rig: &Rig) -> String {
    let world = rig.world.lock().unwrap();
    world.faults.recv_timeout(PATIENCE).expect("a fault")
}

/// Checks that all threads end by themselves, and that nothing is left.
fn ends(rig: &Rig) {
    assert!(rig.machine.is_stopping());
    rig.machine.join();
    assert_eq!(rig.machine.info().mapped_bytes, 0);
    assert!(rig.world.lock().unwrap().faults.try_recv().is_err());
}

#[test]
fn a_panic_at_commit_is_reported_with_sponsor_and_behaviour() {
    let rig = busy();
    let tap = Tap::with(|_, _| panic!("broken"));
    let tell = rig.create_on("west", "tell", 1, |b| b.foreign(foreign(&tap)));
    rig.send(tell, integers(&[1]));
    assert_eq!(fault(&rig), "broken by west in tell");
    ends(&rig);
}

#[test]
fn a_panic_between_turns_blames_no_behaviour() {
    let rig = busy();
    let tell = rig.create_on("west", "tell", 1, |b| b.empty_list());
    let look = |_: &_, _: mote_vm::machine::Inspection<'_>| panic!("while {}", "looking");
    assert!(rig.machine.inspect(tell, Box::new(look)));
    assert_eq!(fault(&rig), "while looking by west in nothing");
    ends(&rig);
}

#[test]
fn a_panic_in_a_timer_s_delivery_is_reported() {
    let rig = busy();
    let tap = Tap::with(|_, _| panic!("late"));
    let later = rig.create_on("west", "later", 1, |b| b.foreign(foreign(&tap)));
    rig.send(later, integers(&[5]));
    assert_eq!(fault(&rig), "late by west in nothing");
    ends(&rig);
}

#[test]
fn who_waits_for_quiet_is_told_after_a_fault() {
    let rig = busy();
    let (tell, told) = channel();
    rig.machine.when_quiet(Box::new(move || {
        let _ = tell.send(());
    }));
    let tap = Tap::with(|_, _| panic!("broken"));
    let teller = rig.create("tell", 1, |b| b.foreign(foreign(&tap)));
    rig.send(teller, integers(&[1]));
    fault(&rig);
    ends(&rig);
    assert_eq!(told.recv_timeout(PATIENCE), Ok(()));
}
