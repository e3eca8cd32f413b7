//! Temporary vectors, which are made, used once more and never read again, such as the sum in `min(row, add(other, 1))`.
//! The operation that uses one is told so. Its result takes the place of the vector. If the result is not a vector, the
//! memory is free for the next one. So a chain of operations stays in the cache.
//!
//! Invariants:
//! 1. A register is **fresh** if, on every path to that point, it holds a value that a primitive has made in this code,
//!    and nothing else refers to that value: since then only primitives that keep nothing of it have read it. Only fresh
//!    registers that are not read any more where control goes on are given up.
//! 2. Where control goes to a label nothing is given up: a primitive that has no answer leaves its operands as they were.
//! 3. A jump to the next instruction skips the code that is added behind an instruction.
use super::ir::{CallSite, Instr, Label, Operand, Register, Unit};
use super::live::{live, Registers};
use crate::terms::prim::primitive::Primitive;

/// Notes in a unit that was verified what is not read again.
pub(super) fn note(unit: &mut Unit) {
    for function in &mut unit.functions {
        note_in(&mut function.code, &mut function.sites);
    }
    for behaviour in &mut unit.behaviours {
        note_in(&mut behaviour.code, &mut behaviour.sites);
    }
}

fn note_in(code: &mut Vec<Instr>, sites: &mut [CallSite]) {
    if code.iter().any(|instruction| made(instruction).is_some()) {
        let given_up = given_up(code);
        give_up(code, sites, given_up);
    }
}

/// The register of a vector that an instruction makes, and that nothing else refers to.
fn made(instruction: &Instr) -> Option<Register> {
    let (dst, primitive, _) = instruction.operation()?;
    (primitive == Primitive::VecMap2).then_some(dst)
}

/// The operands of a primitive that keeps nothing of them: vectors, as far as it has an answer.
fn vectors(instruction: &Instr) -> &[Operand] {
    use Primitive as P;
    match instruction.operation() {
        Some((_, P::VecMap2, args)) => &args[1..],
        Some((_, P::VecDot | P::VecDistance, args)) => args,
        Some((
            _,
            P::VecSum | P::VecMin | P::VecMax | P::VecArgmin | P::VecArgmax | P::VecGet,
            args,
        )) => &args[..1],
        _ => &[],
    }
}

/// Returns, for each instruction, the fresh registers that are not read after it.
fn given_up(code: &[Instr]) -> Vec<Vec<Register>> {
    let live = live(code);
    let mut given_up = vec![Vec::new(); code.len()];
    // What is fresh on all paths that were followed to a label so far.
    let mut labels: Vec<Option<Registers>> = vec![None; code.len()];
    let mut fresh: Option<Registers> = Some(Registers::default());
    for (i, instruction) in code.iter().enumerate() {
        let mut here = match (fresh, labels[i]) {
            (Some(mut here), Some(jumped)) => {
                here.retain(&jumped);
                here
            }
            (here, jumped) => here.or(jumped).unwrap_or_default(),
        };
        let read_later = |r: Register| {
            live.get(i + 1).is_some_and(|live| live.has(r))
                && !instruction
                    .written()
                    .iter()
                    .any(|w| w.contains(&u32::from(r)))
        };
        let moved = match instruction {
            Instr::Move {
                dst,
                src: Operand::Register(src),
            } if here.has(*src) && !read_later(*src) => Some(*dst),
            _ => None,
        };
        let vectors = vectors(instruction);
        instruction.for_each_operand(|operand| {
            if let Operand::Register(r) = operand {
                if here.has(r) && !vectors.contains(&operand) {
                    here.remove(r.into());
                }
            }
        });
        if let Some(label) = instruction.label() {
            let jumped = labels[label as usize].get_or_insert(here);
            jumped.retain(&here);
        }
        for operand in vectors {
            if let Operand::Register(r) = *operand {
                if here.has(r) && !read_later(r) && !given_up[i].contains(&r) {
                    given_up[i].push(r);
                }
            }
        }
        for r in instruction.written().into_iter().flatten() {
            here.remove(r);
        }
        for r in made(instruction).into_iter().chain(moved) {
            here.insert(r.into());
        }
        fresh = instruction.falls_through().then_some(here);
    }
    given_up
}

/// Puts the result of an operation on vectors in the place of a vector that is given up, and adds instructions that forget
/// the others.
fn give_up(code: &mut Vec<Instr>, sites: &mut [CallSite], given_up: Vec<Vec<Register>>) {
    let mut changed = Vec::with_capacity(code.len());
    let mut at: Vec<Label> = Vec::with_capacity(code.len());
    for (mut instruction, mut registers) in code.drain(..).zip(given_up) {
        at.push(changed.len() as Label);
        take_place(&mut instruction, &mut registers);
        // One that is written anew is gone already.
        let written = instruction.written();
        registers.retain(|r| !written.iter().any(|range| range.contains(&u32::from(*r))));
        changed.push(instruction);
        changed.extend(registers.into_iter().map(|r| Instr::Op {
            dst: r,
            primitive: Primitive::VecDrop,
            args: vec![Operand::Register(r)],
        }));
    }
    for instruction in &mut changed {
        if let Some(label) = instruction.label_mut() {
            *label = at[*label as usize];
        }
    }
    for site in sites {
        site.at = at[site.at as usize];
    }
    *code = changed;
}

/// Puts the result in the place of a vector that is given up, and takes that out of `given_up`.
fn take_place(instruction: &mut Instr, given_up: &mut Vec<Register>) {
    let (Instr::Op {
        primitive, args, ..
    }
    | Instr::GuardOp {
        primitive, args, ..
    }) = instruction
    else {
        return;
    };
    if *primitive != Primitive::VecMap2 {
        return;
    }
    let places = [
        (Primitive::VecMap2Left, args[1]),
        (Primitive::VecMap2Right, args[2]),
    ];
    for (in_place, operand) in places {
        let found = given_up
            .iter()
            .position(|r| Operand::Register(*r) == operand);
        if let Some(found) = found {
            given_up.remove(found);
            *primitive = in_place;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Primitive as P;

    const R: fn(Register) -> Operand = Operand::Register;
    const NAME: Operand = Operand::Constant(0);

    fn op(dst: Register, primitive: Primitive, args: &[Operand]) -> Instr {
        let args = args.to_vec();
        Instr::Op {
            dst,
            primitive,
            args,
        }
    }

    fn sum_of(dst: Register, a: Register, b: Register) -> Instr {
        op(dst, P::VecMap2, &[NAME, R(a), R(b)])
    }

    fn guarded(instruction: Instr, label: Label) -> Instr {
        let (dst, primitive, args) = instruction.operation().unwrap();
        let args = args.to_vec();
        Instr::GuardOp {
            dst,
            primitive,
            args,
            label,
        }
    }

    fn drop_of(r: Register) -> Instr {
        op(r, P::VecDrop, &[R(r)])
    }

    fn give_back(r: Register) -> Instr {
        Instr::Return { value: R(r) }
    }

    /// The primitives of a code in which what is given up is noted.
    fn noted(mut code: Vec<Instr>) -> Vec<Primitive> {
        note_in(&mut code, &mut []);
        let primitives = code.iter().filter_map(|i| Some(i.operation()?.1));
        primitives.collect()
    }

    #[test]
    fn a_chain_is_in_the_place_of_what_is_in_between() {
        let chain = |last| vec![sum_of(2, 0, 1), last, give_back(3)];
        assert_eq!(noted(chain(sum_of(3, 0, 2))), [P::VecMap2, P::VecMap2Right]);
        assert_eq!(noted(chain(sum_of(3, 2, 0))), [P::VecMap2, P::VecMap2Left]);
        assert_eq!(noted(chain(sum_of(3, 2, 2))), [P::VecMap2, P::VecMap2Left]);
        // What is given cannot be given up, and neither can what is read again.
        assert_eq!(noted(chain(sum_of(3, 0, 1))), [P::VecMap2; 2]);
        let again = vec![sum_of(2, 0, 1), sum_of(3, 0, 2), sum_of(3, 3, 2)];
        let again = [again, vec![give_back(3)]].concat();
        assert_eq!(
            noted(again),
            [P::VecMap2, P::VecMap2, P::VecMap2Left, P::VecDrop]
        );
        let itself = vec![sum_of(2, 0, 1), sum_of(2, 0, 2), sum_of(2, 2, 2)];
        assert_eq!(
            noted([itself, vec![give_back(2)]].concat()),
            [P::VecMap2, P::VecMap2Right, P::VecMap2Left]
        );
    }

    #[test]
    fn what_no_result_takes_the_place_of_is_dropped() {
        let dropped = |last| noted(vec![sum_of(2, 0, 1), last, give_back(3)]);
        for primitive in [P::VecSum, P::VecMin, P::VecArgmax] {
            let last = op(3, primitive, &[R(2)]);
            assert_eq!(dropped(last), [P::VecMap2, primitive, P::VecDrop]);
        }
        let get = dropped(op(3, P::VecGet, &[R(2), R(0)]));
        assert_eq!(get, [P::VecMap2, P::VecGet, P::VecDrop]);
        let dot = dropped(op(3, P::VecDot, &[R(0), R(2)]));
        assert_eq!(dot, [P::VecMap2, P::VecDot, P::VecDrop]);
        // These may keep it, or a part of it.
        for primitive in [P::VecToBinary, P::MapKeys, P::Same] {
            let args = [R(2), R(0)];
            let last = op(3, primitive, &args[..primitive.arity()]);
            assert_eq!(dropped(last), [P::VecMap2, primitive]);
        }
        // There is no register any more to drop it from.
        let over = vec![sum_of(2, 0, 1), op(2, P::VecSum, &[R(2)]), give_back(2)];
        assert_eq!(noted(over), [P::VecMap2, P::VecSum]);
    }

    #[test]
    fn what_something_else_may_refer_to_is_kept() {
        let pair = Instr::Tuple {
            dst: 4,
            elements: vec![R(2)],
        };
        let copy = |dst| Instr::Move { dst, src: R(2) };
        let last = op(3, P::VecSum, &[R(2)]);
        let code = |between| noted(vec![sum_of(2, 0, 1), between, last.clone(), give_back(3)]);
        assert_eq!(code(pair), [P::VecMap2, P::VecSum]);
        assert_eq!(code(copy(4)), [P::VecMap2, P::VecSum]);
        // Where nothing is left at its old place it is the same one.
        let moved = vec![
            sum_of(2, 0, 1),
            copy(4),
            op(3, P::VecSum, &[R(4)]),
            give_back(3),
        ];
        assert_eq!(noted(moved), [P::VecMap2, P::VecSum, P::VecDrop]);
    }

    #[test]
    fn it_is_fresh_on_all_paths_or_not_at_all() {
        let branch = |label| Instr::Branch {
            condition: R(0),
            label,
        };
        let either = |other: Instr| {
            vec![
                branch(3),
                sum_of(2, 0, 1),
                Instr::Jump { label: 4 },
                other,
                op(3, P::VecSum, &[R(2)]),
                give_back(3),
            ]
        };
        let made = noted(either(sum_of(2, 1, 1)));
        assert_eq!(made, [P::VecMap2, P::VecMap2, P::VecSum, P::VecDrop]);
        let given = Instr::Move { dst: 2, src: R(0) };
        assert_eq!(noted(either(given)), [P::VecMap2, P::VecSum]);
    }

    #[test]
    fn a_label_skips_what_is_dropped_before_it_and_calls_keep_their_sites() {
        let call = Instr::Call {
            dst: 4,
            function: 0,
            args: vec![],
        };
        let mut code = vec![
            guarded(sum_of(2, 0, 1), 4),
            guarded(op(3, P::VecSum, &[R(2)]), 3),
            call.clone(),
            give_back(0),
            give_back(1),
        ];
        let mut sites = [CallSite { at: 2, place: 7 }];
        note_in(&mut code, &mut sites);
        let expected = vec![
            guarded(sum_of(2, 0, 1), 5),
            guarded(op(3, P::VecSum, &[R(2)]), 4),
            drop_of(2),
            call,
            give_back(0),
            give_back(1),
        ];
        assert_eq!(code, expected);
        assert_eq!(sites, [CallSite { at: 3, place: 7 }]);
    }

    #[test]
    fn what_the_way_to_a_label_reads_may_be_given_up_on_the_other() {
        let raises = Instr::Tuple {
            dst: 4,
            elements: vec![R(0), R(2)],
        };
        let code = vec![
            sum_of(2, 0, 1),
            guarded(sum_of(3, 0, 2), 3),
            give_back(3),
            raises,
            Instr::Abort { reason: R(4) },
        ];
        assert_eq!(noted(code), [P::VecMap2, P::VecMap2Right]);
    }
}
