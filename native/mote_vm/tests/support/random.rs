//! Random units of code, nearly always in order, and random changes to their bytes.
#![allow(dead_code)] // Each user takes what it needs.
use crate::build::{
    abort, call_fun, create, create_on, fun, guard, jump, k, label, match_cons, match_tuple, mov,
    r, ret, send, send_after, sendx, Build, MODULE,
};
use mote_vm::code::ir::{Instr, Operand, Unit};
use mote_vm::terms::prim::primitive::Primitive;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, Index};

/// Registers of random code. Few, so that paths agree on them often enough.
const REGISTERS: u16 = 5;

/// The functions and behaviours that random code may use, each with its arity.
const FUNCTIONS: [(&str, &str, u32); 5] = [
    (MODULE, "pure", 1),
    (MODULE, "sends", 0),
    (MODULE, "becomes", 0),
    (MODULE, "subject", 1),
    ("Elixir.Other", "far", 2),
];
const BEHAVIOURS: [(&str, &str, u32); 2] = [(MODULE, "subject", 1), ("Elixir.Other", "far", 0)];

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        60 => (0..2u16).prop_map(r),
        30 => (2..REGISTERS).prop_map(r),
        60 => (0..2u32).prop_map(k),
        1 => Just(r(REGISTERS)),
        1 => Just(k(2)),
    ]
}

fn register() -> impl Strategy<Value = u16> {
    prop_oneof![100 => 0..REGISTERS, 1 => Just(REGISTERS)]
}

/// Generates the distance to a label, of which `placed` makes an index.
fn distance() -> impl Strategy<Value = u32> {
    prop_oneof![60 => 1..4u32, 20 => 4..9u32, 1 => Just(0)]
}

/// An index into these and as many operands as it says, nearly always.
fn used(arities: Vec<u32>) -> impl Strategy<Value = (u32, Vec<Operand>)> {
    let right = (0..arities.len())
        .prop_flat_map(move |index| (Just(index as u32), vec(operand(), arities[index] as usize)));
    prop_oneof![60 => right, 1 => (0..9u32, vec(operand(), 0..3))]
}

fn called() -> impl Strategy<Value = (u32, Vec<Operand>)> {
    used(FUNCTIONS.map(|(_, _, arity)| arity).to_vec())
}

fn created() -> impl Strategy<Value = (u32, Vec<Operand>)> {
    used(BEHAVIOURS.map(|(_, _, arity)| arity).to_vec())
}

fn computed() -> impl Strategy<Value = (Primitive, Vec<Operand>)> {
    select(Primitive::ALL).prop_flat_map(|primitive| {
        let right = vec(operand(), primitive.arity());
        (
            Just(primitive),
            prop_oneof![60 => right, 1 => vec(operand(), 0..4)],
        )
    })
}

/// Generates instructions that compute, test and take apart.
fn plain() -> impl Strategy<Value = Instr> {
    let o = operand;
    let d = register;
    let l = distance;
    prop_oneof![
        4 => (d(), o()).prop_map(|(dst, src)| mov(dst, src)),
        1 => (d(), computed()).prop_map(|(dst, (primitive, args))| Instr::Op { dst, primitive, args }),
        2 => (d(), computed(), l()).prop_map(|(dst, (primitive, args), label)| {
            guard(dst, primitive, args, label)
        }),
        1 => (d(), vec(o(), 0..4)).prop_map(|(dst, elements)| Instr::Tuple { dst, elements }),
        1 => (d(), o(), o()).prop_map(|(dst, head, tail)| Instr::Cons { dst, head, tail }),
        1 => (d(), called()).prop_map(|(dst, (function, args))| Instr::Call { dst, function, args }),
        1 => (d(), 0..6u32, vec(o(), 0..3)).prop_map(|(dst, function, captures)| {
            fun(dst, function, captures)
        }),
        1 => (d(), o(), vec(o(), 0..3), o()).prop_map(|(dst, function, args, place)| {
            call_fun(dst, function, args, place)
        }),
        1 => (o(), l()).prop_map(|(condition, label)| Instr::Branch { condition, label }),
        1 => (o(), l()).prop_map(|(value, label)| Instr::Falsy { value, label }),
        1 => (o(), o(), l()).prop_map(|(left, right, label)| Instr::Match { left, right, label }),
        2 => (o(), 0..4u32, 0..3u16, l()).prop_map(|(value, count, first, label)| {
            match_tuple(value, count, first, label)
        }),
        2 => (o(), d(), d(), l()).prop_map(|(value, head, tail, label)| {
            match_cons(value, head, tail, label)
        }),
    ]
}

fn effect() -> impl Strategy<Value = Instr> {
    let o = operand;
    let d = register;
    prop_oneof![
        2 => d().prop_map(|dst| Instr::SelfAddress { dst }),
        1 => (d(), created()).prop_map(|(dst, (behaviour, captures))| {
            create(dst, behaviour, captures)
        }),
        1 => (d(), created(), o()).prop_map(|(dst, (behaviour, captures), sponsor)| {
            create_on(dst, behaviour, captures, sponsor)
        }),
        1 => (o(), o()).prop_map(|(target, message)| Instr::Send { target, message }),
        1 => (o(), o(), o()).prop_map(|(sponsor, target, message)| {
            sendx(sponsor, target, message)
        }),
        1 => (d(), o(), o(), o()).prop_map(|(dst, delay, target, message)| {
            send_after(dst, delay, target, message)
        }),
        1 => (d(), o()).prop_map(|(dst, timer)| Instr::CancelTimer { dst, timer }),
        1 => o().prop_map(|kept| Instr::Unstash { kept }),
        1 => created().prop_map(|(behaviour, captures)| Instr::Become { behaviour, captures }),
        1 => Just(Instr::BecomeSink),
    ]
}

fn end(behaviour: bool) -> impl Strategy<Value = Instr> {
    let right = if behaviour {
        prop_oneof![Just(Instr::Done), Just(Instr::Ignore)].boxed()
    } else {
        let tail_call = |(function, args)| Instr::TailCall { function, args };
        let value = (operand(), vec(operand(), 0..3), operand());
        let tail_call_fun = |(function, args, place)| Instr::TailCallFun {
            function,
            args,
            place,
        };
        prop_oneof![
            4 => operand().prop_map(ret),
            4 => called().prop_map(tail_call),
            1 => value.prop_map(tail_call_fun)
        ]
        .boxed()
    };
    let abort = operand().prop_map(abort);
    let wrong = prop_oneof![Just(Instr::Done), operand().prop_map(ret)];
    prop_oneof![30 => right, 10 => abort, 1 => wrong]
}

/// Generates a call that is protected, mostly as it should be.
fn protected() -> impl Strategy<Value = Vec<Instr>> {
    let right = (register(), called()).prop_map(|(dst, (function, args))| Instr::Call {
        dst,
        function,
        args,
    });
    let inner = prop_oneof![10 => right, 1 => plain()];
    (register(), inner, 0..12u32).prop_map(|(failed, inner, kind)| match kind {
        0 => vec![inner, Instr::Tried],
        1 => vec![Instr::Try { failed }],
        _ => vec![Instr::Try { failed }, inner, Instr::Tried],
    })
}

fn code(behaviour: bool, effects: u32) -> impl Strategy<Value = Vec<Instr>> {
    let leave = prop_oneof![end(behaviour), distance().prop_map(jump),];
    let any = prop_oneof![30 => plain(), effects => effect(), 4 => leave];
    let parts = prop_oneof![30 => any.prop_map(|instr| vec![instr]), 3 => protected()];
    (vec(parts, 0..12), end(behaviour)).prop_map(|(parts, end)| {
        let mut code = parts.concat();
        code.push(end);
        let length = code.len();
        for (at, instr) in code.iter_mut().enumerate() {
            placed(instr, at as u32, length as u32);
        }
        code
    })
}

/// Turns a distance into a label. One that leads too far leads to the last instruction, mostly.
fn placed(instr: &mut Instr, at: u32, length: u32) {
    if let Some(label) = label(instr) {
        *label = match at + *label {
            target if target >= length && *label < 8 => (length - 1).max(at + 1),
            target => target,
        }
    }
}

/// A unit with a random function and a random behaviour beside some that are known.
pub fn unit() -> impl Strategy<Value = Unit> {
    let function = any::<bool>().prop_flat_map(|effects| {
        let code = code(false, if effects { 6 } else { 1 });
        (Just(effects), prop_oneof![code, Just(vec![ret(r(0))])])
    });
    // Whether it claims to be safe, and whether its turns run outside only: not both.
    let kind = prop_oneof![
        Just((false, false)),
        Just((true, false)),
        Just((false, true))
    ];
    let behaviour = (kind, code(true, 6));
    (function, behaviour).prop_map(|((effects, function), ((safe, away_only), behaviour))| {
        let mut b = Build::new();
        for (module, name, arity) in FUNCTIONS {
            b.uses(module, name, arity);
        }
        for (module, name, captures) in BEHAVIOURS {
            b.creates(module, name, captures);
        }
        let send = send(k(0), k(0));
        let mut unit = b
            .function("pure", 1, vec![ret(r(0))])
            .effects("sends", 0, vec![send, ret(k(0))])
            .effects("becomes", 0, vec![Instr::BecomeSink, ret(k(0))])
            .function("subject", 1, function)
            .behaviour("subject", 1, behaviour)
            .0;
        unit.functions[3].effects = effects;
        unit.functions[3].registers = REGISTERS;
        unit.behaviours[0].safe = safe;
        unit.behaviours[0].away_only = away_only;
        unit.behaviours[0].registers = REGISTERS;
        unit
    })
}

/// One change to bytes.
#[derive(Debug, Clone)]
pub enum Change {
    Set(Index, u8),
    Add(Index, i8),
    Insert(Index, u8),
    Remove(Index),
    Copy(Index, Index, usize),
}

/// A change.
pub fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        (at(), -2..3i8).prop_map(|(at, by)| Change::Add(at, by)),
        (at(), any::<u8>()).prop_map(|(at, byte)| Change::Insert(at, byte)),
        at().prop_map(Change::Remove),
        (at(), at(), 1..12usize).prop_map(|(from, to, length)| Change::Copy(from, to, length)),
    ]
}

/// Makes it.
pub fn changed(bytes: &mut Vec<u8>, change: &Change) {
    let length = bytes.len();
    match change {
        _ if length == 0 => {}
        Change::Set(at, byte) => bytes[at.index(length)] = *byte,
        Change::Add(at, by) => {
            let byte = &mut bytes[at.index(length)];
            *byte = byte.wrapping_add_signed(*by);
        }
        Change::Insert(at, byte) => bytes.insert(at.index(length), *byte),
        Change::Remove(at) => drop(bytes.remove(at.index(length))),
        Change::Copy(from, to, count) => {
            let from = from.index(length);
            let piece = bytes[from..length.min(from + count)].to_vec();
            let to = to.index(length);
            bytes.splice(to..to, piece);
        }
    }
}
