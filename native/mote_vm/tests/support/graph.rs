//! A random graph of actors that pass tokens on, and a model that knows what must come out of it.
//!
//! A token `{hops, random}` carries its own random numbers, so its way depends on nothing but the graph: whatever
//! the number of threads, every actor must see the same number of tokens. A node keeps two counters in its state
//! that rise and fall by one with each turn; a lost or doubled turn, or two at once, shows in them.
//!
//! What a node does with a token is one of: pass it on (also by `sendx`, by an `on` reference, through a new
//! actor of a safe behaviour, of one that becomes, or pinned to a sponsor), work first, or do all of it and abort.
#![allow(dead_code)] // Every test binary takes what it needs.
use crate::build::{
    abort, becomes, branch, call, create, create_on, match_tuple, send, sendx, tuple,
};
use crate::listing::Listing;
use crate::programs::{r, Assembler};
use crate::rig::{address, foreign, int, integers, spin, Rig, Tap};
use mote_vm::boundary::parcel::{Builder, Parcel};
use mote_vm::code::ir::{Instr, Operand, Unit};
use mote_vm::machine::Machine;
use mote_vm::terms::prim::primitive::Primitive::*;
use mote_vm::values::handles::Key;
use std::sync::Arc;

/// Acquaintances of a node.
pub const LINKS: usize = 4;
const ACTIONS: i64 = 16;
const MULTIPLIER: i64 = 1_103_515_245;
const INCREMENT: i64 = 12_345;
const MASK: i64 = (1 << 30) - 1;

/// The next random number, as the code computes it too.
pub fn next(random: i64) -> i64 {
    (random * MULTIPLIER + INCREMENT) & MASK
}

/// The code: `node(tap, links, up, down)`, the safe `mirror(links)`, and what they create. `sponsors` are the two
/// names that `sendx`, `on` and pinned actors go to; `aborts` says whether some turns abort.
pub fn unit(sponsors: [&str; 2], aborts: bool) -> Unit {
    let mut a = Assembler::default();
    let spin = spin(&mut a);
    passers(&mut a);
    mirror(&mut a);
    let node = a.behaviour_used("node", 4);
    let (relay, once) = (a.behaviour_used("relay", 1), a.behaviour_used("once", 1));
    let (zero, one) = (a.int(0), a.int(1));
    let [east, west] = sponsors.map(|name| a.atom(name));
    let (short, long) = (a.int(200), a.int(if cfg!(miri) { 5_000 } else { 10_000 }));
    let (torn, because) = (a.atom("torn"), a.atom("because"));
    let create = |behaviour| create(13, behaviour, [r(10)]);
    let send = |target| send(target, r(12));
    let work = |steps| call(13, spin, [steps]);
    let sendx = |sponsor| sendx(sponsor, r(10), r(12));
    let next_state = |links| becomes(node, [r(0), links, r(14), r(15)]);
    let mut l = Listing::default();
    // Captures are in 0..=3, the message in 4.
    l.op(5, Add, &[r(2), r(3)]).unless_same(r(5), zero, "torn");
    l.op(14, Add, &[r(2), one]).op(15, Sub, &[r(3), one]);
    token(&mut l, &mut a, 4, 1, "setup");
    for (n, place) in PLACES.into_iter().enumerate() {
        let k = a.int(n as i64);
        l.unless_same(r(9), k, place);
        match n {
            0 if aborts => {
                l.then(create(once)).then(send(r(13))).then(sendx(west));
                l.then(send(r(0))).then(next_state(r(1)));
                l.then(abort(because));
            }
            1 => {
                l.then(create(once)).then(send(r(13)));
            }
            2 => {
                l.then(create(relay)).then(send(r(13)));
            }
            3 => {
                l.then(sendx(east));
            }
            4 => {
                l.then(sendx(west));
            }
            5 => {
                l.then(work(short)).then(send(r(10)));
            }
            6 => {
                l.then(create_on(13, once, [r(10)], west));
                l.then(send(r(13)));
            }
            7 => {
                l.op(13, On, &[east, r(10)]).then(send(r(13)));
            }
            8 => {
                l.then(work(long)).then(send(r(10)));
            }
            _ => {
                l.then(send(r(10)));
            }
        }
        if !(n == 0 && aborts) {
            l.jump("end");
        }
        l.place(place);
    }
    l.then(Instr::Ignore);
    l.place("end").then(next_state(r(1))).then(Instr::Done);
    l.place("spent").then(send_done(r(0), one));
    l.then(next_state(r(1))).then(Instr::Done);
    l.place("setup");
    l.then(next_state(r(4))).then(Instr::Done);
    l.place("torn").then(abort(torn));
    a.behaviour("node", 4, 16, l.finish());
    a.unit()
}

/// The place where the next action begins, for each action.
const PLACES: [&str; ACTIONS as usize] = [
    "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "none",
];

fn send_done(target: Operand, message: Operand) -> Instr {
    send(target, message)
}

/// Reads a token from register `message`: action in 9, target in 10, the next token in 12. Goes on at `setup` when
/// it is none, and at "spent" when it has no hops left.
fn token(l: &mut Listing, a: &mut Assembler, message: u16, links: u16, setup: &'static str) {
    let (zero, one) = (a.int(0), a.int(1));
    let [multiplier, increment, mask] = [MULTIPLIER, INCREMENT, MASK].map(|n| a.int(n));
    let (eight, sixteen) = (a.int(8), a.int(16));
    let (count, actions) = (a.int(LINKS as i64), a.int(ACTIONS));
    l.to(setup, match_tuple(r(message), 2, 6, 0));
    l.op(8, Gt, &[r(6), zero]);
    l.to("spent", branch(r(8), 0));
    l.op(7, Mul, &[r(7), multiplier])
        .op(7, Add, &[r(7), increment])
        .op(7, Band, &[r(7), mask])
        .op(8, Bsr, &[r(7), sixteen])
        .op(8, Irem, &[r(8), count])
        .op(10, Elem, &[r(links), r(8)])
        .op(9, Bsr, &[r(7), eight])
        .op(9, Irem, &[r(9), actions])
        .op(11, Sub, &[r(6), one]);
    l.then(tuple(12, [r(11), r(7)]));
}

fn passers(a: &mut Assembler) {
    let pass = send(r(0), r(1));
    a.safe("relay", 1, 2, vec![pass.clone(), Instr::Done]);
    a.behaviour("once", 1, 2, vec![pass, Instr::BecomeSink, Instr::Done]);
}

/// `mirror(tap, links)`: passes tokens on and never becomes.
fn mirror(a: &mut Assembler) {
    let one = a.int(1);
    let mut l = Listing::default();
    token(&mut l, a, 2, 1, "other");
    l.then(send(r(10), r(12)));
    l.then(Instr::Done);
    l.place("spent")
        .then(send_done(r(0), one))
        .then(Instr::Done);
    l.place("other").then(Instr::Ignore);
    a.safe("mirror", 2, 13, l.finish());
}

/// The links between actors.
pub struct Graph {
    nodes: usize,
    links: Vec<[usize; LINKS]>,
}

/// The result that must come out.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub turns: u64,
    pub sends: u64,
    pub creates: u64,
    pub becomes: u64,
    pub aborts: u64,
    pub spent: u64,
    /// Turns of each node.
    pub nodes: Vec<i64>,
}

impl Graph {
    /// A graph of that many nodes, and a quarter as many mirrors.
    pub fn random(nodes: usize, mut seed: i64) -> Graph {
        let all = nodes + nodes / 4;
        let mut draw = |below: usize| {
            seed = next(seed);
            (seed >> 12) as usize % below
        };
        // Mirrors know nodes only: they are born with their links.
        let links = (0..all).map(|at| {
            let below = if at < nodes { all } else { nodes };
            std::array::from_fn(|_| draw(below))
        });
        Graph {
            nodes,
            links: links.collect(),
        }
    }

    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Walks the tokens `(start, hops, random)` by hand.
    pub fn expect(&self, tokens: &[(usize, i64, i64)], aborts: bool) -> Outcome {
        let mut out = Outcome {
            nodes: vec![1; self.nodes],
            turns: self.nodes as u64,
            becomes: self.nodes as u64,
            ..Outcome::default()
        };
        for &(mut at, mut hops, mut random) in tokens {
            loop {
                let node = at < self.nodes;
                out.turns += 1;
                if hops > 0 {
                    random = next(random);
                    let action = (random >> 8) % ACTIONS;
                    if node && action == 0 && aborts {
                        out.aborts += 1;
                        break;
                    }
                    out.sends += 1;
                    if node && matches!(action, 1 | 2 | 6) {
                        out.creates += 1;
                        out.turns += 1;
                        out.sends += 1;
                        out.becomes += (action != 2) as u64;
                    }
                } else {
                    out.sends += 1;
                    out.spent += 1;
                }
                if node {
                    out.nodes[at] += 1;
                    out.becomes += 1;
                }
                if hops == 0 {
                    break;
                }
                at = self.links[at][((random >> 16) % LINKS as i64) as usize];
                hops -= 1;
            }
        }
        out
    }

    /// Makes the actors, pinning every eighth node to `pin`; waits until they know each other.
    pub fn build(&self, rig: &Rig, tap: &Arc<Tap>, pin: Option<&str>) -> Vec<Key> {
        let machine: &Machine = &rig.machine;
        let mut keys = Vec::new();
        for at in 0..self.nodes {
            let sponsor = pin.filter(|_| at % 8 == 7);
            keys.push(crate::rig::create(machine, "node", 4, sponsor, |b| {
                b.foreign(foreign(tap));
                b.empty_list();
                int(b, 0);
                int(b, 0);
            }));
        }
        for at in self.nodes..self.len() {
            let key = rig.create("mirror", 2, |b| {
                b.foreign(foreign(tap));
                self.write_links(at, machine, &keys, b);
            });
            keys.push(key);
        }
        for at in 0..self.nodes {
            let mut b = Builder::new();
            self.write_links(at, machine, &keys, &mut b);
            rig.send(keys[at], b.finish());
        }
        rig.quiet();
        keys
    }

    fn write_links(&self, at: usize, machine: &Machine, keys: &[Key], b: &mut Builder) {
        b.tuple(LINKS);
        for link in self.links[at] {
            address(machine, b, keys[link]);
        }
    }

    /// Returns the result that has come out. Also checks the nodes' states.
    pub fn outcome(&self, rig: &Rig, keys: &[Key], tap: &Tap) -> Outcome {
        let counts = rig.machine.info().counts();
        let nodes = keys[..self.nodes].iter().map(|key| {
            let captures = rig.captures(*key);
            let [up, down] = [2, 3].map(|i| captures[i].parse::<i64>().unwrap());
            assert_eq!(up, -down, "a state of two turns mixed");
            up
        });
        Outcome {
            nodes: nodes.collect(),
            turns: counts.turns,
            sends: counts.sends,
            creates: counts.creates,
            becomes: counts.becomes,
            aborts: counts.aborts_explicit + counts.aborts_match,
            spent: tap.count(),
        }
    }
}

/// The message of a token.
pub fn token_message(hops: i64, random: i64) -> Parcel {
    integers(&[hops, random])
}
