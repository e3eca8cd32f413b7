//! How long threads stand still for a collection, without the BEAM:
//! `cargo bench -p mote_jit --bench gc_pause -- [chain|wide|tree] [ACTORS] [THREADS]`.
//!
//! Builds that many live actors, collects while a player sends to itself, and prints pauses and what turns did
//! meanwhile.
#[path = "../../mote_vm/tests/support/build.rs"]
mod build;
#[path = "../tests/support/compiler.rs"]
mod compiler;
#[path = "../../mote_vm/tests/support/encode.rs"]
mod encode;
#[path = "../../mote_vm/tests/support/programs.rs"]
mod programs;
#[path = "../../mote_vm/tests/support/rig.rs"]
mod rig;
#[path = "../../mote_vm/tests/support/world.rs"]
mod world;

use mote_vm::code::ir::{Instr, Unit};
use mote_vm::terms::prim::primitive::Primitive;
use programs::{r, Assembler};
use rig::{address, integers, quiet, Rig};
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let shape = ["chain", "wide", "tree"];
    let shape = shape.into_iter().find(|s| arguments.iter().any(|a| a == s));
    let shape = shape.unwrap_or("chain");
    let mut numbers = arguments.iter().filter_map(|a| a.parse::<i64>().ok());
    let actors = numbers.next().unwrap_or(1_000_000);
    let threads = numbers.next().unwrap_or(1) as usize;
    let rig = Rig::new(&[("main", threads)], unit());
    let held = build(&rig, shape, actors);
    quiet(&rig.machine);
    let built = rig.machine.info();
    let before = built.counts().turns;
    let player = rig.create("play", 1, |b| b.empty_list());
    rig.send(player, integers(&[i64::MAX >> 2]));
    let start = Instant::now();
    for _ in 0..3 {
        rig.collect();
    }
    let took = start.elapsed();
    let info = rig.machine.info();
    println!(
        "gc_pause {shape}, {threads} threads: {} live actors, {} MB; longest pause while building {:.2} ms, in all {:.2} ms, \
         the last {:.2} ms; a collection takes {:.0} ms, in which {:.1} million turns run a second",
        info.gc.live_actors,
        info.gc.live_bytes / 1_000_000,
        built.gc.longest_pause_ns as f64 / 1e6,
        info.gc.longest_pause_ns as f64 / 1e6,
        info.gc.last_pause_ns as f64 / 1e6,
        took.as_secs_f64() * 1e3 / 3.0,
        (info.counts().turns - before) as f64 / took.as_secs_f64() / 1e6,
    );
    rig.machine.release(held);
}

/// Builds something that keeps that many actors alive.
fn build(rig: &Rig, shape: &str, actors: i64) -> mote_vm::values::handles::Key {
    match shape {
        "wide" => {
            let one = rig.create("play", 1, |b| b.empty_list());
            let keys: Vec<_> = (0..actors)
                .map(|_| rig.create("play", 1, |b| address(&rig.machine, b, one)))
                .collect();
            let array = rig.create("play", 1, |b| {
                b.tuple(keys.len());
                for key in &keys {
                    address(&rig.machine, b, *key);
                }
            });
            for key in keys {
                rig.machine.release(key);
            }
            array
        }
        "tree" => {
            let root = rig.create("node", 1, |b| b.empty_list());
            rig.send(root, integers(&[(actors as u64).ilog2() as i64]));
            root
        }
        _ => {
            let chain = rig.create("chain", 1, |b| b.empty_list());
            rig.send(chain, integers(&[actors]));
            chain
        }
    }
}

/// `chain(x)`: creates `play`s that hold each other, one for each message of itself. `node(x)`: becomes a pair of nodes,
/// and so on to that depth. `play(x)`: sends itself the number less one.
fn unit() -> Unit {
    let mut a = Assembler::default();
    let (zero, one) = (a.int(0), a.int(1));
    let play = a.behaviour_used("play", 1);
    let chain = a.behaviour_used("chain", 1);
    let node = a.behaviour_used("node", 1);
    let pair = a.behaviour_used("pair", 2);
    let until_zero = |rest: Vec<Instr>| {
        let mut code = vec![
            Instr::Match {
                left: r(1),
                right: zero,
                label: 2,
            },
            Instr::Done,
            Instr::Op {
                dst: 2,
                primitive: Primitive::Sub,
                args: vec![r(1), one],
            },
        ];
        code.extend(rest);
        code.push(Instr::Done);
        code
    };
    let myself = |dst| Instr::SelfAddress { dst };
    let send = |target, message| Instr::Send { target, message };
    let create = |dst, behaviour, capture| Instr::Create {
        dst,
        behaviour,
        captures: vec![capture],
    };
    let code = until_zero(vec![
        myself(3),
        send(r(3), r(2)),
        Instr::Become {
            behaviour: play,
            captures: vec![r(2)],
        },
    ]);
    a.behaviour("play", 1, 4, code);
    let code = until_zero(vec![
        create(4, play, r(0)),
        myself(3),
        send(r(3), r(2)),
        Instr::Become {
            behaviour: chain,
            captures: vec![r(4)],
        },
    ]);
    a.behaviour("chain", 1, 5, code);
    let code = until_zero(vec![
        create(3, node, r(0)),
        create(4, node, r(0)),
        send(r(3), r(2)),
        send(r(4), r(2)),
        Instr::Become {
            behaviour: pair,
            captures: vec![r(3), r(4)],
        },
    ]);
    a.behaviour("node", 1, 5, code);
    a.behaviour("pair", 2, 3, vec![Instr::Done]);
    a.unit()
}
