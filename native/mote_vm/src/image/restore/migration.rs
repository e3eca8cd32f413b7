//! Actors whose behaviour has other code today: before any turn runs, they become what somebody outside makes of them.
//!
//! Invariants:
//! 1. The machine is paused, and nothing that waits has entered it: no turn sees an actor as it was before.
//! 2. An actor keeps its identity, its pin, its messages and its timers: only its behaviour and its captures change. What it has
//!    stashed waits before all else that waits for it, as when it becomes another behaviour by a turn.
//! 3. Nothing that comes from outside is believed: an answer is for the actors that were asked about, and for this machine. If one of
//!    them cannot become what it should, the machine does not go on.
use super::{Restorer, Roots};
use crate::base::atom::Atom;
use crate::boundary::parcel::Parcel;
use crate::code::program::BehaviourVersion;
use crate::image::record::OWN_BEHAVIOURS;
use crate::image::ImageError;
use crate::threads::shared::Machine;
use crate::turns::queue::Event;
use crate::values::actor::{Actor, BehaviourId};
use crate::values::term::Term;
use crate::values::value::Value;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// An actor that may become another.
pub struct MigratingActor<'m> {
    /// The number of its behaviour in the tables.
    pub behaviour: u32,
    /// Its captures, without the stash.
    pub captures: Vec<Term<'m>>,
}

/// The new behaviours of the actors of one question, in their order.
pub struct Migrated {
    /// Their behaviours; none of those that stay what they are.
    pub next: Vec<Option<BehaviourVersion>>,
    /// A tuple of captures for each of those that do not, one after the other.
    pub captures: Parcel,
}

/// Says what the first of these actors become, one at least; none, if nobody is left who could say so.
pub type AskMigration<'a> =
    &'a mut dyn FnMut(&mut dyn Iterator<Item = MigratingActor<'_>>) -> Option<Migrated>;

/// The actors that become others, and the function that says so.
pub struct Migration<'a> {
    /// The numbers of their behaviours in the tables.
    pub behaviours: &'a [u32],
    /// Behaviours whose actors take up the present version as they are.
    pub renewed: &'a [u32],
    /// Is asked until there is an answer for all of them.
    pub ask: AskMigration<'a>,
}

/// A behaviour whose actors become others.
#[derive(Clone, Copy)]
struct LeftBehaviour {
    number: u32,
    captures: usize,
    stashes: bool,
}

fn lacks<T>(problem: impl Into<String>) -> Result<T, ImageError> {
    Err(ImageError::Lacks(problem.into()))
}

impl Restorer<'_> {
    /// Lets actors become others, as they are answered for.
    pub(super) fn migrate(
        &mut self,
        machine: &Machine,
        migration: Migration<'_>,
        roots: &mut Roots,
    ) -> Result<(), ImageError> {
        self.renew(machine, migration.renewed);
        let leaving = self.leaving(machine, migration.behaviours);
        let (mut stashed, mut next) = (Vec::new(), 0);
        while let Some(first) = self.next_leaving(next, &leaving) {
            next = first;
            let mut asked: Vec<(*const Actor, LeftBehaviour)> = Vec::new();
            let mut actors = std::iter::from_fn(|| {
                next = self.next_leaving(next, &leaving)?;
                let actor = self.actors[next];
                next += 1;
                // SAFETY: as below.
                let of = leaving[&unsafe { (*actor).header().behaviour() }];
                asked.push((actor, of));
                let captures = captured(actor, of).map(Term::new).collect();
                Some(MigratingActor {
                    behaviour: of.number,
                    captures,
                })
            });
            let Some(migrated) = (migration.ask)(&mut actors) else {
                return lacks("nobody is left who could say what actors become");
            };
            self.become_others(machine, &asked, migrated, &mut stashed)?;
        }
        self.put_before(machine, stashed, roots)
    }

    /// The behaviours of these numbers.
    fn of_numbers<'n>(
        &'n self,
        numbers: &'n [u32],
    ) -> impl Iterator<Item = (u32, BehaviourId)> + 'n {
        let id = |n: &u32| self.behaviours.get(*n as usize + OWN_BEHAVIOURS as usize);
        numbers.iter().filter_map(move |n| Some((*n, *id(n)?)))
    }

    /// Lets actors of these behaviours take up the present version, where there is one.
    fn renew(&self, machine: &Machine, numbers: &[u32]) {
        let program = machine.program();
        let present = self.of_numbers(numbers);
        let present = present.filter_map(|(_, id)| Some((id, program.follower(id)?)));
        let present: FxHashMap<BehaviourId, BehaviourId> = present.collect();
        if present.is_empty() {
            return;
        }
        for actor in &self.actors {
            // SAFETY: made by this restorer, in a heap that forgets nothing any more.
            let actor = unsafe { &**actor };
            if let Some(next) = present.get(&actor.header().behaviour()) {
                actor.set(*next, actor.state());
            }
        }
    }

    /// The behaviours of these numbers, by what they are here.
    fn leaving(&self, machine: &Machine, numbers: &[u32]) -> FxHashMap<BehaviourId, LeftBehaviour> {
        let found = self.of_numbers(numbers).map(|(number, id)| {
            let code = machine.program().behaviour(id);
            let leaving = LeftBehaviour {
                number,
                captures: code.captures as usize,
                stashes: code.stashes,
            };
            (id, leaving)
        });
        found.collect()
    }

    /// The place of the next actor from that one on whose behaviour is one of these.
    fn next_leaving(
        &self,
        from: usize,
        leaving: &FxHashMap<BehaviourId, LeftBehaviour>,
    ) -> Option<usize> {
        // SAFETY: as above.
        let leaves =
            |actor: &*const Actor| leaving.contains_key(&unsafe { (**actor).header().behaviour() });
        let at = self.actors.get(from..)?.iter().position(leaves)?;
        Some(from + at)
    }

    /// Applies an answer. Adds what the actors had stashed, the oldest first.
    fn become_others(
        &mut self,
        machine: &Machine,
        asked: &[(*const Actor, LeftBehaviour)],
        migrated: Migrated,
        stashed: &mut Vec<Event>,
    ) -> Result<(), ImageError> {
        let Migrated { next, captures } = migrated;
        let is_ours = |version: &BehaviourVersion| Arc::ptr_eq(&version.program, machine.program());
        if next.len() != asked.len()
            || !next.iter().flatten().all(is_ours)
            || !captures.is_for(machine.handles())
        {
            return lacks("what actors become is not of this machine");
        }
        let others = asked.iter().zip(&next);
        let others = others.filter_map(|(asked, next)| Some((asked, next.as_ref()?)));
        let count = next.iter().flatten().count();
        let states = captures.unpack_each(count, self.heap, |_, captures| Some(captures));
        let states = states.ok_or(ImageError::NoMemory)?;
        for (((actor, was), version), captures) in others.zip(states) {
            // SAFETY: as above.
            let (target, actor) = (*actor, unsafe { &**actor });
            let code = machine.program().behaviour(version.id);
            let runs_away = |id| machine.sponsors().by_id(id).most_away.is_some();
            if code.away_only && !actor.header().pinned().is_some_and(runs_away) {
                let before = machine.program().name(actor.header().behaviour());
                return lacks(format!(
                    "an actor that is {} cannot become {}, which is marked beam: true: it is pinned to no beam sponsor",
                    written(before.module, before.written, was.captures - was.stashes as usize),
                    written(code.module, code.written, code.written_captures()),
                ));
            }
            if was.stashes {
                let kept = actor.captured(was.captures).last();
                let first = stashed.len();
                let cells = std::iter::successors(kept, |cell| Some(cell.as_cons()?.1));
                let messages = cells.map_while(|cell| Some(cell.as_cons()?.0));
                stashed.extend(messages.map(|message| Event { target, message }));
                stashed[first..].reverse();
            }
            let values = captures.as_tuple().unwrap_or(&[]);
            let value = |i: usize| values.get(i).copied().unwrap_or(Value::UNDEFINED);
            let state = self.heap.captures(code.captures as usize, value);
            actor.set(version.id, state.ok_or(ImageError::NoMemory)?);
        }
        Ok(())
    }

    /// Puts messages before all that waits for their actors, in the sponsor where that waits, or where the actor is pinned.
    fn put_before(
        &mut self,
        machine: &Machine,
        stashed: Vec<Event>,
        roots: &mut Roots,
    ) -> Result<(), ImageError> {
        if stashed.is_empty() {
            return Ok(());
        }
        if !machine
            .pool()
            .quota
            .fits_in_the_end(stashed.len() * size_of::<Event>())
        {
            return Err(ImageError::NoMemory);
        }
        let first = machine.sponsors().first();
        let mut places = FxHashMap::default();
        for Event { target, .. } in &stashed {
            // SAFETY: as above.
            let pinned = unsafe { (**target).header().pinned() };
            let id = pinned.unwrap_or(first.id);
            let at = self.sponsors.iter().position(|sponsor| sponsor.id == id);
            let at = at.unwrap_or_else(|| {
                // What an actor is pinned to is among them.
                self.sponsors.push(first.clone());
                roots.events.push(Vec::new());
                self.sponsors.len() - 1
            });
            places.insert(*target, at);
        }
        for (place, events) in roots.events.iter().enumerate() {
            for Event { target, .. } in events {
                places.entry(*target).and_modify(|at| *at = place);
            }
        }
        let mut before: Vec<Vec<Event>> = roots.events.iter().map(|_| Vec::new()).collect();
        for event in stashed {
            before[places[&event.target]].push(event);
        }
        for (events, mut before) in roots.events.iter_mut().zip(before) {
            before.append(events);
            *events = before;
        }
        Ok(())
    }
}

/// A behaviour as people write it.
fn written(module: Atom, name: Atom, captures: usize) -> String {
    let module = module.name().trim_start_matches("Elixir.");
    format!("{module}.{}/{captures}", name.name())
}

/// Returns the captures of an actor, without the stash.
fn captured(actor: *const Actor, of: LeftBehaviour) -> impl Iterator<Item = Value> {
    // SAFETY: as above.
    let all = unsafe { &*actor }.captured(of.captures);
    all.take(of.captures - of.stashes as usize)
}
