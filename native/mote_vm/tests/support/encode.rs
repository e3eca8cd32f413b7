//! The wire format, written: what the decoder reads. Written from the contract, not from the decoder.
#![allow(dead_code)] // Every test binary takes what it needs.

use mote_vm::code::ir::{CallSite, Constant, Import, Instr, Operand, Unit};

/// A unit as bytes.
pub fn encode(unit: &Unit) -> Vec<u8> {
    let mut out = b"MOTE\x02".to_vec();
    bytes(&mut out, unit.module.as_bytes());
    out.extend(unit.hash.to_le_bytes());
    vec(&mut out, &unit.atoms, |out, atom| {
        bytes(out, atom.as_bytes())
    });
    vec(&mut out, &unit.constants, constant);
    vec(&mut out, &unit.functions_used, import);
    vec(&mut out, &unit.behaviours_used, import);
    vec(&mut out, &unit.functions, |out, f| {
        head(
            out,
            [f.name.into(), f.arity.into(), f.registers.into()],
            f.effects.into(),
        );
        vec(out, &f.code, instruction);
        vec(out, &f.sites, site);
    });
    vec(&mut out, &unit.behaviours, |out, b| {
        head(
            out,
            [b.name.into(), b.captures.into(), b.registers.into()],
            u8::from(b.safe) | u8::from(b.away_only) << 1,
        );
        vec(out, &b.code, instruction);
        vec(out, &b.sites, site);
    });
    out
}

/// An unsigned varint.
pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn signed(out: &mut Vec<u8>, value: i64) {
    varint(out, (value << 1 ^ value >> 63) as u64);
}

fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    varint(out, bytes.len() as u64);
    out.extend(bytes);
}

fn vec<T>(out: &mut Vec<u8>, items: &[T], mut item: impl FnMut(&mut Vec<u8>, &T)) {
    varint(out, items.len() as u64);
    items.iter().for_each(|it| item(out, it));
}

fn import(out: &mut Vec<u8>, import: &Import) {
    numbers(
        out,
        [
            import.module.into(),
            import.name.into(),
            import.arity.into(),
        ],
    );
}

fn site(out: &mut Vec<u8>, site: &CallSite) {
    numbers(out, [site.at.into(), site.place.into()]);
}

fn numbers<const N: usize>(out: &mut Vec<u8>, numbers: [u64; N]) {
    numbers.into_iter().for_each(|number| varint(out, number));
}

fn head(out: &mut Vec<u8>, fields: [u64; 3], flags: u8) {
    numbers(out, fields);
    out.push(flags);
}

fn constant(out: &mut Vec<u8>, constant: &Constant) {
    match constant {
        Constant::Integer(value) => {
            out.push(0);
            signed(out, *value);
        }
        Constant::Float(value) => {
            out.push(1);
            out.extend(value.to_le_bytes());
        }
        Constant::Atom(atom) => {
            out.push(2);
            varint(out, (*atom).into());
        }
        Constant::Nil => out.push(3),
        Constant::Tuple(elements) => {
            out.push(4);
            vec(out, elements, |out, element| varint(out, (*element).into()));
        }
        Constant::Cons { head, tail } => {
            out.push(5);
            numbers(out, [(*head).into(), (*tail).into()]);
        }
        Constant::Binary(binary) => {
            out.push(6);
            bytes(out, binary);
        }
        Constant::Bits { unused, bytes: all } => {
            out.extend([10, *unused]);
            bytes(out, all);
        }
        Constant::Map(entries) => {
            out.push(8);
            vec(out, entries, |out, (key, value)| {
                numbers(out, [(*key).into(), (*value).into()]);
            });
        }
        Constant::Big {
            negative,
            bytes: size,
        } => {
            out.extend([9, u8::from(*negative)]);
            bytes(out, size);
        }
        Constant::Opaque { class, bytes: term } => {
            out.push(7);
            out.push(*class as u8);
            bytes(out, term);
        }
    }
}

/// The parts of an instruction, in the order of the table.
enum Part<'a> {
    Number(u64),
    One(Operand),
    Several(&'a [Operand]),
    Count(&'a [Operand]),
}

fn instruction(out: &mut Vec<u8>, instr: &Instr) {
    use Part::{Count, Number, One, Several};
    fn n<'a>(number: impl Into<u64>) -> Part<'a> {
        Number(number.into())
    }
    let (code, parts): (u8, Vec<Part>) = match instr {
        Instr::Move { dst, src } => (0, vec![n(*dst), One(*src)]),
        Instr::Op {
            dst,
            primitive,
            args,
        } => (1, vec![n(*dst), n(*primitive as u8), Several(args)]),
        Instr::GuardOp {
            dst,
            primitive,
            args,
            label,
        } => (
            2,
            vec![n(*dst), n(*primitive as u8), Several(args), n(*label)],
        ),
        Instr::Tuple { dst, elements } => (3, vec![n(*dst), Count(elements)]),
        Instr::Cons { dst, head, tail } => (4, vec![n(*dst), One(*head), One(*tail)]),
        Instr::SelfAddress { dst } => (5, vec![n(*dst)]),
        Instr::Call {
            dst,
            function,
            args,
        } => (6, vec![n(*dst), n(*function), Count(args)]),
        Instr::TailCall { function, args } => (7, vec![n(*function), Count(args)]),
        Instr::Return { value } => (8, vec![One(*value)]),
        Instr::Jump { label } => (9, vec![n(*label)]),
        Instr::Branch { condition, label } => (10, vec![One(*condition), n(*label)]),
        Instr::Falsy { value, label } => (11, vec![One(*value), n(*label)]),
        Instr::Match { left, right, label } => (12, vec![One(*left), One(*right), n(*label)]),
        Instr::MatchTuple {
            value,
            count,
            first,
            label,
        } => (13, vec![One(*value), n(*count), n(*first), n(*label)]),
        Instr::MatchCons {
            value,
            head,
            tail,
            label,
        } => (14, vec![One(*value), n(*head), n(*tail), n(*label)]),
        Instr::Create {
            dst,
            behaviour,
            captures,
        } => (15, vec![n(*dst), n(*behaviour), Count(captures)]),
        Instr::CreateOn {
            dst,
            behaviour,
            captures,
            sponsor,
        } => (
            16,
            vec![n(*dst), n(*behaviour), Count(captures), One(*sponsor)],
        ),
        Instr::Send { target, message } => (17, vec![One(*target), One(*message)]),
        Instr::SendX {
            sponsor,
            target,
            message,
        } => (18, vec![One(*sponsor), One(*target), One(*message)]),
        Instr::SendAfter {
            dst,
            delay,
            target,
            message,
        } => (19, vec![n(*dst), One(*delay), One(*target), One(*message)]),
        Instr::Become {
            behaviour,
            captures,
        } => (20, vec![n(*behaviour), Count(captures)]),
        Instr::BecomeSink => (21, vec![]),
        Instr::Abort { reason } => (22, vec![One(*reason)]),
        Instr::Done => (23, vec![]),
        Instr::Ignore => (24, vec![]),
        Instr::CancelTimer { dst, timer } => (25, vec![n(*dst), One(*timer)]),
        Instr::Unstash { kept } => (26, vec![One(*kept)]),
        Instr::Fun {
            dst,
            function,
            captures,
        } => (27, vec![n(*dst), n(*function), Count(captures)]),
        Instr::CallFun {
            dst,
            function,
            args,
            place,
        } => (28, vec![n(*dst), One(*function), Count(args), One(*place)]),
        Instr::TailCallFun {
            function,
            args,
            place,
        } => (29, vec![One(*function), Count(args), One(*place)]),
        Instr::Try { failed } => (30, vec![n(*failed)]),
        Instr::Tried => (31, vec![]),
    };
    out.push(code);
    for part in parts {
        match part {
            Number(number) => varint(out, number),
            One(it) => operand(out, &it),
            Several(all) => all.iter().for_each(|it| operand(out, it)),
            Count(all) => vec(out, all, operand),
        }
    }
}

fn operand(out: &mut Vec<u8>, operand: &Operand) {
    match operand {
        Operand::Register(register) => varint(out, u64::from(*register) << 1),
        Operand::Constant(constant) => varint(out, u64::from(*constant) << 1 | 1),
    }
}
