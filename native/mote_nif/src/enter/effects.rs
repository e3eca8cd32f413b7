//! The effects of an away turn, on their way in.
//!
//! The machine has not created yet the actors and timers that the turn has created. In the effects, an actor is a
//! `%Mote.Reference.Address{}`, whose id is a part of the turn's number and the place among the actors, and a timer is a plain
//! reference.
use crate::codec::budget::WriteMode;
use crate::codec::encode::Writer;
use crate::codec::made::Made;
use crate::held::machine::MachineResource;
use crate::term::atoms::{self, names};
use crate::term::read::{self, list_cell, tuple_elements};
use mote_vm::base::atom::Atom as VmAtom;
use mote_vm::machine::{BehaviourVersion, Effect, Effects, Machine};
use rustler::types::atom::Atom;
use rustler::{Encoder, Env, Term};

/// The reason why effects could not be taken: a word, or the behaviour that the machine does not have like that.
pub enum EffectsError<'a> {
    Word(Atom),
    Behaviour(Term<'a>),
}

impl<'a> EffectsError<'a> {
    /// `word` or `{:load, behaviour}`.
    pub fn term(self, env: Env<'a>) -> Term<'a> {
        match self {
            EffectsError::Word(word) => word.encode(env),
            EffectsError::Behaviour(behaviour) => (names::load(), behaviour).encode(env),
        }
    }
}

/// Reads the steps of a turn.
struct StepReader<'m, 'a> {
    machine: &'m Machine,
    steps: Vec<Effect>,
    values: Vec<Term<'a>>,
    made: Made<'a>,
    count: usize,
}

pub fn effects<'a>(
    env: Env<'a>,
    (resource, machine): (&MachineResource, &Machine),
    number: u64,
    (steps, become_next): (Term<'a>, Term<'a>),
    mode: WriteMode<'a>,
) -> Result<Effects, EffectsError<'a>> {
    let made = Made {
        number,
        ..Made::default()
    };
    let mut reader = StepReader {
        machine,
        steps: Vec::new(),
        values: Vec::new(),
        made,
        count: 0,
    };
    let mut rest = steps;
    while let Some((step, tail)) = list_cell(rest) {
        // Each has at least as many values, which are written later.
        if reader.steps.len() == mode.budget {
            return Err(EffectsError::Word(names::big()));
        }
        let parts: Vec<Term<'a>> = elements(step);
        reader.step(&parts)?;
        rest = tail;
    }
    reader.becomes(become_next)?;
    let StepReader {
        steps,
        values,
        made,
        ..
    } = reader;
    if steps.is_empty() {
        return Ok(Effects::default());
    }
    let mut writer = Writer::new(resource, machine, mode);
    writer.is_for_heap();
    writer.made = made;
    let written = writer.all(&values);
    writer.count_spent(env);
    written.map_err(|halt| EffectsError::Word(halt.into()))?;
    let values = Some(writer.builder.finish());
    Ok(Effects { steps, values })
}

fn elements(tuple: Term<'_>) -> Vec<Term<'_>> {
    let env = tuple.get_env();
    // SAFETY: elements belong to the environment of their tuple.
    let term = |element: &_| unsafe { Term::new(env, *element) };
    tuple_elements(tuple).iter().map(term).collect()
}

impl<'m, 'a> StepReader<'m, 'a> {
    fn step(&mut self, parts: &[Term<'a>]) -> Result<(), EffectsError<'a>> {
        let bad = || EffectsError::Word(names::malformed());
        let (kind, parts) = parts.split_first().ok_or_else(bad)?;
        let kind: Atom = kind.decode().map_err(|_| bad())?;
        let step = match *parts {
            [_, behaviour, sponsor] if kind == names::create() => {
                self.made.actors.push(self.count);
                self.count += 1;
                let sponsor = sponsor.is_atom().then(|| atoms::number(sponsor));
                let sponsor = sponsor.filter(|name| *name != VmAtom::NIL);
                let (behaviour, captures) = self.behaviour(behaviour)?;
                Effect::Create(behaviour, sponsor, captures)
            }
            [target, message] if kind == names::send() => {
                self.values.extend([target, message]);
                Effect::Send
            }
            [sponsor, target, message] if kind == names::sendx() => {
                self.values.extend([sponsor, target, message]);
                Effect::Sendx
            }
            [timer, delay, target, message] if kind == names::send_after() => {
                if !timer.is_atom() {
                    self.made.timers.push((timer, self.count));
                }
                self.count += 1;
                self.values.extend([target, message]);
                Effect::SendAfter(delay.decode().ok().filter(|_| !timer.is_atom()))
            }
            [monitor, process, target, message] if kind == names::monitor() && process.is_pid() => {
                self.made.timers.push((monitor, self.count));
                self.count += 1;
                self.values.extend([process, target, message]);
                Effect::Monitor
            }
            [timer] if kind == names::cancel_timer() => {
                self.values.push(timer);
                Effect::CancelTimer
            }
            [kept, again] if kind == names::unstash() => {
                self.values.push(kept);
                Effect::Unstash(again.decode().map_err(|_| bad())?)
            }
            _ => return Err(bad()),
        };
        self.steps.push(step);
        Ok(())
    }

    fn becomes(&mut self, next: Term<'a>) -> Result<(), EffectsError<'a>> {
        if next.is_atom() && atoms::number(next) == VmAtom::NIL {
            return Ok(());
        }
        let (behaviour, captures) = self.behaviour(next)?;
        self.steps.push(Effect::Become(behaviour, captures));
        Ok(())
    }

    /// The behaviour of a struct, none of `:sink`, and how many captures it has, which are noted down.
    fn behaviour(
        &mut self,
        term: Term<'a>,
    ) -> Result<(Option<BehaviourVersion>, usize), EffectsError<'a>> {
        if term.is_atom() {
            return Ok((None, 0));
        }
        let found = (|| {
            let module = atoms::number(read::get(term, names::module())?);
            let name = atoms::number(read::get(term, names::name())?);
            let version: u64 = read::get(term, names::version())?.decode().ok()?;
            let captures = elements(read::get(term, names::captures())?);
            let (behaviour, hash) = self.machine.behaviour(module, name, captures.len())?;
            (hash == version).then_some((behaviour, captures))
        })();
        let (behaviour, captures) = found.ok_or(EffectsError::Behaviour(term))?;
        let count = captures.len();
        self.values.extend(captures);
        Ok((Some(behaviour), count))
    }
}
