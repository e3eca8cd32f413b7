//! What is known of the registers at each point of a piece of code, before any of it is compiled.
//!
//! Jumps go forward only, so one pass in the order of the instructions meets every path; only the parameters of a
//! function that calls itself last (a loop) need repetition. The compiler (body/) walks the same states again with
//! the same functions, so what is known here is what holds there.
//!
//! All of it is about the fast body. It includes what the fast body itself has tested; when a test fails, the fast body
//! leaves for the slow one. Nothing is assumed about the slow body.
use super::facts::{Knowledge, Known};
use super::kinds::Kinds;
use super::loop_carried::LoopCarried;
use super::subject::Subject;
use mote_vm::code::ir::{Instr, Label, Operand};
use mote_vm::code::live::{live, Registers};

/// Times that a supposition is replaced by what the loop hands on. After that, less is supposed.
const SUPPOSITIONS: usize = 2;

/// The knowledge about a piece of code.
pub(super) struct Dataflow {
    /// Kinds that the fast body takes for granted of the parameters. They are tested before it is entered.
    pub(super) inputs: Vec<Kinds>,
    /// Knowledge at each label, where anything jumps to it.
    pub(super) labels: Vec<Option<Knowledge>>,
    /// The registers that are still read, before each instruction.
    pub(super) live: Vec<Registers>,
    pub(super) loops: bool,
    /// The parameters that are numbers beside floats and nothing else, and of which callers do not say more.
    beside: Vec<bool>,
    /// The integers that a loop only ever passes on as they are, or a small step further.
    pub(super) steps: Vec<bool>,
    /// True for each of them that has half of the integers around it free when the fast body is entered. So its steps need no test: that
    /// many rounds have more than a slice of fuel, and the next slice is taken before the fast body is entered again. A loop that calls
    /// others, which take slices, has none.
    pub(super) counters: Vec<bool>,
    /// Kinds that it answers in the fast body, as [`Subject::returns`] has it: nothing if it never does.
    pub(super) answers: Kinds,
    /// Functions that it calls, and the kinds it passes. Those that it passes to itself as a loop are left out.
    pub(super) calls: Vec<(u32, Vec<Kinds>)>,
    /// True for each instruction with nothing but an abort on its way.
    pub(super) aborts: Vec<bool>,
    registers: u16,
}

/// See [`Dataflow::aborts`].
fn aborts(code: &[Instr]) -> Vec<bool> {
    let mut aborts = vec![false; code.len() + 1];
    for (at, instruction) in code.iter().enumerate().rev() {
        aborts[at] = match instruction {
            Instr::Abort { .. } => true,
            Instr::Tuple { .. } | Instr::Cons { .. } | Instr::Move { .. } => aborts[at + 1],
            _ => false,
        };
    }
    aborts.truncate(code.len());
    aborts
}

impl Dataflow {
    pub(super) fn of(subject: &Subject<'_>) -> Dataflow {
        let mut flow = Dataflow {
            inputs: vec![Kinds::ANY; subject.inputs as usize],
            labels: Vec::new(),
            live: live(subject.code),
            loops: subject.code.iter().any(
                |i| matches!(i, Instr::TailCall { function, .. } if subject.is_self(*function)),
            ),
            beside: vec![false; subject.inputs as usize],
            steps: vec![false; subject.inputs as usize],
            counters: vec![false; subject.inputs as usize],
            answers: Kinds::NONE,
            calls: Vec::new(),
            aborts: aborts(subject.code),
            registers: subject.registers,
        };
        let mut carried = flow.run(subject);
        if subject.index.is_none() {
            return flow;
        }
        if !flow.loops {
            flow.inputs = carried.inputs_as_passed(subject.passed());
            let open = |i: usize| carried.is_beside_floats(i) && flow.inputs[i] == Kinds::ANY;
            flow.beside = (0..flow.inputs.len()).map(open).collect();
            flow.run(subject);
            return flow;
        }
        // Optimistic assumptions first: each pass may justify more in the next one.
        for _ in 0..4 {
            let hoped = carried.inputs();
            if hoped == flow.inputs {
                break;
            }
            flow.inputs = hoped;
            carried = flow.run(subject);
        }
        carried = flow.suppose(subject, carried);
        // Then only what comes round as it went in.
        while !flow.confirm(&carried) {
            carried = flow.run(subject);
        }
        let steps = |i: usize| flow.inputs[i] == Kinds::FIXNUM && carried.steps[i] == Some(true);
        flow.steps = (0..flow.inputs.len()).map(steps).collect();
        if !subject.code.iter().any(Instr::is_call) {
            flow.counters.clone_from(&flow.steps);
        }
        flow
    }

    /// Instructions, but for those on whose way there is nothing but an abort.
    pub(super) fn size(&self) -> usize {
        self.aborts.iter().filter(|aborts| !**aborts).count()
    }

    /// Returns the knowledge at the start of the fast body.
    pub(super) fn start(&self) -> Knowledge {
        let mut registers = vec![Known::NOTHING; self.registers as usize];
        for (i, (register, kinds)) in registers.iter_mut().zip(&self.inputs).enumerate() {
            *register = Known {
                kinds: *kinds,
                unboxed: *kinds == Kinds::FLOAT,
                param: Some(i as u16),
                beside: self.beside[i],
                ..Known::NOTHING
            };
        }
        Knowledge {
            registers,
            facts: Vec::new(),
            orders: Vec::new(),
            repeats: self.loops,
        }
    }

    fn run(&mut self, subject: &Subject<'_>) -> LoopCarried {
        let mut carried = LoopCarried {
            passed: vec![None; self.inputs.len()],
            steps: vec![None; self.inputs.len()],
            used_as: vec![Kinds::NONE; self.inputs.len()],
            integers: vec![false; self.inputs.len()],
            either: vec![false; self.inputs.len()],
            alone: vec![false; self.inputs.len()],
        };
        self.answers = Kinds::NONE;
        self.calls.clear();
        self.labels = vec![None; subject.code.len()];
        let mut state = Some(self.start());
        for (i, instruction) in subject.code.iter().enumerate() {
            if let Some(jumped) = &mut self.labels[i] {
                if let Some(state) = &state {
                    jumped.join(state);
                }
                jumped.forget_tests();
                state = Some(jumped.clone());
            }
            let Some(now) = &mut state else { continue };
            if let Some(label) = instruction.label() {
                let there = now.after_jump(instruction);
                match &mut self.labels[label as usize] {
                    Some(known) => known.join(&there),
                    none => *none = Some(there),
                }
            }
            match instruction {
                Instr::TailCall { function, args } if subject.is_self(*function) => {
                    carried.transfer(now, args, subject.constants);
                }
                Instr::Call { function, args, .. } => self.passes(now, *function, args, subject),
                Instr::TailCall { function, args } => {
                    self.passes(now, *function, args, subject);
                    self.answers = self.answers.or(subject.returns(*function));
                }
                Instr::TailCallFun { .. } => self.answers = Kinds::ANY,
                Instr::Return { value } => {
                    self.answers = self.answers.or(now.kinds(*value, subject.constants));
                }
                _ => {}
            }
            if instruction.falls_through() {
                let before = now.clone();
                now.transfer(instruction, subject);
                carried.uses(&before, now, instruction, subject.constants);
                if !self.loops {
                    carried.doubt(&before, instruction, subject.constants);
                }
            } else {
                state = None;
            }
        }
        carried
    }

    fn passes(&mut self, now: &Knowledge, function: u32, args: &[Operand], to: &Subject<'_>) {
        let kinds = args.iter().map(|arg| now.kinds(*arg, to.constants));
        self.calls.push((function, kinds.collect()));
    }

    /// Supposes kinds for all parameters of which one round leaves open what kind of number they are. All are supposed at once to be what
    /// callers pass. Where these do not say, a parameter is an integer if it counts, and a number of either kind if it does not. A
    /// supposition that a round does not hand on by itself is taken back, to what it hands on. So what a parameter is taken for does not
    /// depend on what the loop does with it first.
    fn suppose(&mut self, subject: &Subject<'_>, mut carried: LoopCarried) -> LoopCarried {
        let found = self.inputs.clone();
        self.inputs = carried.supposed(&found, subject.passed());
        for round in 0.. {
            if self.inputs == found {
                break;
            }
            carried = self.run(subject);
            let settled: Vec<Kinds> = (0..found.len())
                .map(|i| match self.inputs[i] == found[i] {
                    true => found[i],
                    false => carried.settled(i, self.inputs[i], round >= SUPPOSITIONS),
                })
                .collect();
            if settled == self.inputs {
                return carried;
            }
            self.inputs = settled;
        }
        self.run(subject)
    }

    /// Takes back suppositions that do not come round. Returns whether all held.
    fn confirm(&mut self, carried: &LoopCarried) -> bool {
        let mut all = true;
        for (input, passed) in self.inputs.iter_mut().zip(&carried.passed) {
            let holds = passed.is_none_or(|known| match *input {
                Kinds::FLOAT => known.unboxed,
                kinds => known.kinds.is(kinds),
            });
            if !holds {
                *input = Kinds::ANY;
                all = false;
            }
        }
        all
    }
}

impl Knowledge {
    /// Takes over what is known at a label, where the instruction can be jumped to.
    pub(super) fn arrive(&mut self, at: Label, flow: &Dataflow) {
        if let Some(known) = &flow.labels[at as usize] {
            self.clone_from(known);
        }
    }
}

#[cfg(test)]
#[path = "../../mote_vm/tests/support/build.rs"]
mod build;

#[cfg(test)]
mod tests {
    use super::build::{call, k, op, r, ret, tail, Build, MODULE};
    use super::*;
    use crate::subject::UnitFacts;
    use mote_vm::code::ir::Constant;
    use mote_vm::code::verify::verify;
    use mote_vm::terms::prim::primitive::Primitive as P;
    use mote_vm::values::value::Value;

    const ORDERS: [[usize; 3]; 6] = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];

    /// Returns the kinds that a loop takes its counter, its end, its sum and its factor for. It computes `i * 0.25`, `i + 1` and `s * h`,
    /// in the given `order`.
    fn inputs(order: [usize; 3]) -> Vec<Kinds> {
        let mut build = Build::new();
        let one = k(build.constant(Constant::Integer(1)));
        let quarter = k(build.constant(Constant::Float(0.25)));
        let me = build.uses(MODULE, "me", 4);
        let lines = [
            op(4, P::Mul, [r(0), quarter]),
            op(5, P::Add, [r(0), one]),
            op(6, P::Mul, [r(2), r(3)]),
        ];
        let mut code = vec![
            op(7, P::Gt, [r(0), r(1)]),
            Instr::Branch {
                condition: r(7),
                label: 3,
            },
            ret(r(2)),
        ];
        code.extend(order.map(|line| lines[line].clone()));
        code.push(op(7, P::Add, [r(6), r(4)]));
        code.push(tail(me, [r(5), r(1), r(7), r(3)]));
        inputs_of_first(build.function("me", 4, code))
    }

    /// Returns the kinds that the first function of a unit takes its parameters for.
    fn inputs_of_first(build: Build) -> Vec<Kinds> {
        let unit = build.0;
        let constants = unit.constants.iter().map(|constant| match constant {
            Constant::Integer(n) => Value::fixnum(*n),
            Constant::Float(f) => Value::flonum(*f).expect("of a common exponent"),
            _ => Value::NIL,
        });
        let (constants, verified) = (constants.collect::<Vec<_>>(), verify(&unit).expect("fit"));
        let facts = UnitFacts::of(&verified, &constants);
        Dataflow::of(&facts.function(0).expect("small")).inputs
    }

    /// Returns the kinds that `x + 1`, or `rem(x + 1, 7)`, takes `x` for where others of its unit pass these numbers.
    fn beside_one(integers_only: bool, passed: &[f64]) -> Vec<Kinds> {
        let mut build = Build::new();
        let one = k(build.constant(Constant::Integer(1)));
        let next = build.uses(MODULE, "next", 1);
        let mut code = vec![op(1, P::Add, [r(0), one])];
        if integers_only {
            code.push(op(1, P::Irem, [r(0), k(0)]));
        }
        code.push(ret(r(1)));
        let mut callers = Vec::new();
        for number in passed {
            let constant = match number.fract() == 0.0 {
                true => Constant::Integer(*number as i64),
                false => Constant::Float(*number),
            };
            callers.push(call(0, next, [k(build.constant(constant))]));
        }
        callers.push(ret(k(0)));
        let build = build.function("next", 1, code);
        inputs_of_first(build.function("callers", 0, callers))
    }

    #[test]
    fn what_a_loop_takes_its_parameters_for_does_not_depend_on_the_order_of_lines() {
        for order in ORDERS {
            let expected = [Kinds::FIXNUM, Kinds::ANY, Kinds::FLOAT, Kinds::FLOAT];
            assert_eq!(inputs(order), expected, "{order:?}");
        }
    }

    /// Returns the kinds that a function takes `x` for where others of its unit pass these. It computes `x * 0.5` and then `x * 2.0`, or
    /// `x + x` if `x` is used `alone` as well.
    fn beside_floats(alone: bool, passed: &[Constant]) -> Vec<Kinds> {
        let mut build = Build::new();
        let half = k(build.constant(Constant::Float(0.5)));
        let half_of = build.uses(MODULE, "half", 1);
        let again = match alone {
            true => op(2, P::Add, [r(0), r(0)]),
            false => op(2, P::Sub, [half, r(0)]),
        };
        let code = vec![op(1, P::Mul, [r(0), half]), again, ret(r(1))];
        let mut callers = Vec::new();
        for number in passed {
            let number = k(build.constant(number.clone()));
            callers.push(call(0, half_of, [number]));
        }
        callers.push(ret(k(0)));
        let build = build.function("half", 1, code);
        inputs_of_first(build.function("callers", 0, callers))
    }

    #[test]
    fn what_is_only_beside_floats_may_be_an_integer_unless_floats_are_passed() {
        let both = [Constant::Integer(3), Constant::Float(1.5)];
        assert_eq!(beside_floats(false, &[]), [Kinds::ANY]);
        assert_eq!(beside_floats(false, &both[..1]), [Kinds::FIXNUM]);
        assert_eq!(beside_floats(false, &both[1..]), [Kinds::FLOAT]);
        assert_eq!(beside_floats(false, &both), [Kinds::ANY]);
        assert_eq!(beside_floats(true, &[]), [Kinds::FLOAT]);
    }

    #[test]
    fn what_only_an_integer_beside_it_says_of_a_parameter_yields_to_what_is_passed() {
        assert_eq!(beside_one(false, &[]), [Kinds::FIXNUM]);
        assert_eq!(beside_one(false, &[1.0, 2.0]), [Kinds::FIXNUM]);
        assert_eq!(beside_one(false, &[0.5, 1.5]), [Kinds::FLOAT]);
        assert_eq!(beside_one(false, &[0.5, 1.0]), [Kinds::NUMBER]);
        assert_eq!(beside_one(true, &[0.5, 1.5]), [Kinds::FIXNUM]);
    }
}
