//! Many messages in one call. They are written one after the other and enter together; who calls goes on with the rest.
use crate::actor::{refusal, Target};
use crate::atoms::names;
use crate::encode::{spent, Encoder as Writer, Means};
use crate::read::{known_struct, list_cell, tuple_elements, word_of, Struct};
use crate::resources::{sponsor, MachineResource};
use mote_vm::base::atom::Atom as Name;
use mote_vm::boundary::batch::Letters;
use mote_vm::machine::{Entrance, Machine};
use mote_vm::values::actor::SponsorId;
use mote_vm::values::handles::{Held, Key};
use rustler::{Atom, Encoder, Env, ResourceArc, Term};

/// Messages that enter together.
const BATCH: usize = 1_000;
/// With so many bytes outside of heaps they are enough: what enters together is refused together when there is no memory
/// for all of it.
const BATCH_OUTSIDE: usize = 128 << 10;

/// Sends a list to one actor: how many were accepted, what is left, and why: `:ok` (nothing is), `:more` (call again),
/// `:big` (the first one that is left is too much for this scheduler), or what `send` says.
#[rustler::nif]
fn send_many<'a>(
    env: Env<'a>,
    machine: Term<'a>,
    key: Term<'a>,
    sponsor: Term<'a>,
    messages: Term<'a>,
) -> Term<'a> {
    let found = Target::find((machine, key, sponsor)).and_then(|target| {
        let held = target.machine.hold(target.key);
        Ok((held.ok_or_else(names::unknown)?, target))
    });
    let (held, target) = match found {
        Ok(found) => found,
        Err(word) => return (0, messages, word).encode(env),
    };
    let entrance = target.machine.entrance_to(&held, target.sponsor);
    let mut run = Run::new(target.resource, target.machine, entrance);
    run.letters.address(held);
    let mut rest = messages;
    while let Some((message, tail)) = list_cell(rest) {
        if !run.write(message) {
            break;
        }
        rest = tail;
    }
    run.send(messages, rest).encode(env)
}

/// Sends `{address, message}` for each in a list, as `send_many`; also `:other`, when the first one that is left is for
/// something else.
#[rustler::nif]
fn send_pairs<'a>(env: Env<'a>, pairs: Term<'a>, name: Term<'a>) -> Term<'a> {
    let Some((first, _)) = list_cell(pairs) else {
        return (0, pairs, names::ok()).encode(env);
    };
    let found = Aim::of(first).and_then(|aim| {
        let machine = aim.machine.running().cloned();
        let machine = machine.ok_or_else(names::stopped)?;
        let named = sponsor(&machine, name)?;
        let (_, entrance) = aim.take(&machine, named)?;
        Ok((aim.machine, machine, named, entrance))
    });
    let (resource, machine, named, entrance) = match found {
        Ok(found) => found,
        Err(word) => return (0, pairs, word).encode(env),
    };
    let mut run = Run::new(&resource, &machine, entrance);
    let mut last = None;
    let mut rest = pairs;
    while let Some((pair, tail)) = list_cell(rest) {
        let [address, message] = tuple_elements(pair) else {
            run.why = names::other();
            break;
        };
        let word = word_of(*address);
        if last != Some(word) {
            if let Err(why) = run.turn_to(pair, &resource, named) {
                run.why = why;
                break;
            }
            last = Some(word);
        }
        // SAFETY: elements belong to the environment of their tuple.
        if !run.write(unsafe { Term::new(env, *message) }) {
            break;
        }
        rest = tail;
    }
    run.send(pairs, rest).encode(env)
}

/// Where a pair leads.
struct Aim {
    machine: ResourceArc<MachineResource>,
    key: Key,
    sponsor: Option<Name>,
}

impl Aim {
    fn of(pair: Term<'_>) -> Result<Aim, Atom> {
        let [address, _] = tuple_elements(pair) else {
            return Err(names::other());
        };
        // SAFETY: elements belong to the environment of their tuple.
        match known_struct(unsafe { Term::new(pair.get_env(), *address) }) {
            Some(Struct::Address(machine, key, sponsor)) => Ok(Aim {
                machine,
                key,
                sponsor,
            }),
            _ => Err(names::other()),
        }
    }

    /// The actor, and where messages for it enter.
    fn take(&self, machine: &Machine, named: Option<SponsorId>) -> Result<(Held, Entrance), Atom> {
        let own = match self.sponsor {
            Some(name) => Some(machine.sponsor(name).ok_or_else(names::no_sponsor)?),
            None => named,
        };
        let held = machine.hold(self.key).ok_or_else(names::unknown)?;
        let entrance = machine.entrance_to(&held, own);
        Ok((held, entrance))
    }
}

/// Messages on their way to one entrance.
struct Run<'m, 'a> {
    machine: &'m Machine,
    entrance: Entrance,
    letters: Letters,
    writer: Writer<'m, 'a>,
    /// Why it does not go on.
    why: Atom,
}

impl<'m, 'a> Run<'m, 'a> {
    fn new(resource: &'m MachineResource, machine: &'m Machine, entrance: Entrance) -> Self {
        let (letters, builder) = machine.letters();
        let mut writer = Writer::new(resource, machine, Means::first());
        writer.builder = builder;
        Run {
            machine,
            entrance,
            letters,
            writer,
            why: names::ok(),
        }
    }

    /// What follows is for another actor, if messages for it go the same way.
    fn turn_to(
        &mut self,
        pair: Term<'_>,
        resource: &ResourceArc<MachineResource>,
        named: Option<SponsorId>,
    ) -> Result<(), Atom> {
        let aim = Aim::of(pair)?;
        if aim.machine.as_c_arg() != resource.as_c_arg() {
            return Err(names::more_left());
        }
        let (held, entrance) = aim.take(self.machine, named)?;
        if entrance != self.entrance {
            return Err(names::more_left());
        }
        self.letters.address(held);
        Ok(())
    }

    /// Whether the message was written, and another may be.
    fn write(&mut self, message: Term<'a>) -> bool {
        if self.letters.len() == BATCH || self.writer.builder.outside() >= BATCH_OUTSIDE {
            self.why = names::more_left();
            return false;
        }
        let mark = self.writer.builder.mark();
        if let Err(halt) = self.writer.term(message) {
            self.writer.builder.rewind(mark);
            self.why = match self.letters.is_empty() {
                true => halt.into(),
                false => names::more_left(),
            };
            return false;
        }
        self.letters.end(&self.writer.builder);
        true
    }

    /// Sends what was written of `list` up to `rest`: how many were accepted, what is left and why.
    fn send(self, list: Term<'a>, rest: Term<'a>) -> (usize, Term<'a>, Atom) {
        // A message costs more than its parts.
        spent(list.get_env(), 2 * self.letters.len());
        self.writer.count_spent(list.get_env());
        let batch = self.letters.seal(self.writer.builder);
        match self.machine.send_batch(&self.entrance, batch) {
            (accepted, None) => (accepted, rest, self.why),
            (accepted, Some(why)) => (accepted, after(list, accepted), refusal(why)),
        }
    }
}

/// The list behind its first `n` elements.
fn after(list: Term<'_>, n: usize) -> Term<'_> {
    (0..n).fold(list, |rest, _| {
        list_cell(rest).map_or(rest, |(_, tail)| tail)
    })
}
