//! A whole machine that collects while another thread stands still or sleeps: small enough for miri, which sees whether
//! anybody touches what is not theirs at that moment (`bin/prove miri`).

use crate::build::{becomes, is, op, send};
use crate::programs::{r, Assembler};
use crate::rig::{self, address, int, Rig};
use mote_vm::code::ir::{Instr, Unit};
use mote_vm::terms::prim::primitive::Primitive;

/// `play(peer, n)`: for every message but 0 becomes `play(peer, n + 1)`, and sends the message less one to its peer.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let play = a.behaviour_used("play", 2);
    let (zero, one) = (a.int(0), a.int(1));
    let code = vec![
        is(r(2), zero, 2),
        Instr::Done,
        op(3, Primitive::Sub, vec![r(2), one]),
        send(r(0), r(3)),
        op(4, Primitive::Add, vec![r(1), one]),
        becomes(play, [r(0), r(4)]),
        Instr::Done,
    ];
    a.behaviour("play", 2, 5, code);
    a.unit()
}

#[test]
fn two_threads_play_while_either_collects() {
    let rounds = if cfg!(miri) { 2 } else { 50 };
    let rig = Rig::new(&[("east", 1), ("west", 1)], unit());
    let wall = rig.create("play", 2, |b| {
        b.empty_list();
        int(b, 0);
    });
    let player = rig.create_on("west", "play", 2, |b| {
        address(&rig.machine, b, wall);
        int(b, 0);
    });
    let [a, b] = ["east", "west"].map(|home| {
        rig.create_on(home, "play", 2, |b| {
            address(&rig.machine, b, player);
            int(b, 0);
        })
    });
    rig.machine.release(wall);
    for round in 0..rounds {
        for key in [a, b, player] {
            rig.send_by("west", key, rig::integers(&[1_000]));
        }
        // Some while they play, some while one or both sleep.
        assert_eq!(rig.collect().live_actors, 4);
        if round % 2 == 0 {
            rig.quiet();
        }
    }
    rig.quiet();
    // One message each in every round, and to the player one more from either of them.
    assert_eq!(rig.captures(a)[1], rounds.to_string());
    assert_eq!(rig.captures(player)[1], (3 * rounds).to_string());
    for key in [a, b, player] {
        rig.machine.release(key);
    }
    assert_eq!(rig.collect().live_actors, 0);
}
