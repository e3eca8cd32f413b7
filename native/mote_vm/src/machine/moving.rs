//! An actor that leaves for another machine: it is held between two turns, while its former state is carried away, and then
//! becomes what sends on, or is again what it was.
//!
//! Invariants:
//! 1. An actor that is held has four captures: what it had captured (a tuple), the number of the behaviour that it had, the
//!    holder's number, and the messages that came meanwhile, the newest first: its behaviour does nothing but stash. So all of
//!    it is live, and paid for.
//! 2. Nothing is lost and nothing is done twice: what waited for the actor waits on, and what came while it was held is put
//!    before that when it goes on, as for every actor that leaves a stash behind. A turn outside that would stash one more is not
//!    heard any more then: its message is queued again (`call_back`).
//! 3. Whoever refuses changes nothing: an actor is held only once the asker's side has taken what it was.
//! 4. Only the one who holds an actor lets it go on. Another one, whose own hold came too late, finds it not held.
#[cfg(all(test, not(any(miri, loom))))]
mod tests;

use super::Machine;
use crate::base::lent::Lender;
use crate::boundary::parcel::Parcel;
use crate::look::inspect::Inspection;
use crate::machine::contract::BehaviourVersion;
use crate::terms::written::exceeds;
use crate::threads::inbox::Entry;
use crate::threads::thread::{self, Dispatch};
use crate::turns::queue::Event;
use crate::values::actor::{Actor, BehaviourId};
use crate::values::handles::{Key, Target};
use crate::values::value::Value;
use std::sync::Arc;

/// Captures of an actor that is held.
const HELD: u16 = 4;

/// A hold on an actor.
#[derive(Clone)]
pub struct Hold {
    /// The behaviour that it has meanwhile.
    pub held: BehaviourVersion,
    /// The number that the caller has given to this hold.
    pub holder: u32,
}

/// The reason why an actor is not held, or does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stays {
    /// The actor ignores everything, for good.
    Sink,
    /// It is a socket, which is this process's.
    Socket,
    /// Its behaviour never becomes another: its turns may run on several threads at once.
    Safe,
    /// A turn of it runs outside.
    Busy,
    /// The actor is held already.
    Held,
    /// The actor is not held.
    NotHeld,
    /// Its behaviour is an older version than the one that is loaded.
    Stale,
    /// The actor's captures are larger, written out, than the machine's memory.
    TooLarge,
    /// The machine has no memory for it.
    NoMemory,
}

/// Takes what an actor was, or the reason why it is not held. Returns whether to hold it.
pub type TakeAway = Box<dyn FnOnce(&Machine, Result<Inspection<'_>, Stays>) -> bool + Send>;

/// Hears how an actor went on.
pub type GoneOn = Box<dyn FnOnce(&Machine, Result<(), Stays>) + Send>;

/// The way in which an actor that was held goes on.
pub enum GoesOn {
    /// The actor is again what it was.
    Back,
    /// Another behaviour with those captures.
    As(BehaviourVersion, Parcel),
}

impl Machine {
    /// Holds an actor between two turns, when what the caller sent to it before is done or queued: its behaviour is `hold.held`
    /// from then on. `take` runs on a dispatch thread. `false` when the handle belongs to another machine.
    #[must_use]
    pub fn hold_still(&self, key: Key, hold: Hold, take: TakeAway) -> bool {
        self.ours(&hold.held) && self.to_owner(key, |target| holding(target, hold, take))
    }

    /// Lets an actor go on that is held so. Otherwise as [`Machine::hold_still`].
    #[must_use]
    pub fn go_on(&self, key: Key, hold: Hold, next: GoesOn, told: GoneOn) -> bool {
        let ours = match &next {
            GoesOn::Back => true,
            GoesOn::As(version, captures) => self.ours(version) && captures.is_for(&self.0.handles),
        };
        ours && self.ours(&hold.held)
            && self.to_owner(key, |target| going(target, hold, next, told))
    }

    fn ours(&self, version: &BehaviourVersion) -> bool {
        Arc::ptr_eq(&version.program, &self.0.program)
    }

    fn to_owner(&self, key: Key, entry: impl FnOnce(Target) -> Entry) -> bool {
        let Some(held) = self.hold(key) else {
            return false;
        };
        let way = self.way_to(&held, None);
        self.push(&way, entry(Target(held.actor)));
        // From here on the inbox keeps it.
        drop(held);
        true
    }
}

fn holding(target: Target, hold: Hold, take: TakeAway) -> Entry {
    let task = thread::task(move |thread| thread.hold_still(target, hold, take));
    Entry::Inspect(target, task)
}

fn going(target: Target, hold: Hold, next: GoesOn, told: GoneOn) -> Entry {
    let task = thread::task(move |thread| thread.go_on(target, hold, next, told));
    Entry::Inspect(target, task)
}

impl Dispatch {
    /// Holds an actor here, where it is owned, or passes that on to its owner.
    fn hold_still(&mut self, target: Target, hold: Hold, take: TakeAway) {
        let context = self.context.clone();
        // SAFETY: the caller resolved a handle, and the inbox has kept the actor since.
        let actor = unsafe { &*target.0 };
        if let Some(owner) = self.own_or_find_owner(actor) {
            context.machine.push(&owner, holding(target, hold, take));
            return;
        }
        self.begin_between(actor);
        match self.state_of_held(actor, &hold) {
            Ok(state) => {
                if take(&context.machine, Ok(self.inspection(actor))) {
                    self.turn.become_next(hold.held.id, state);
                    self.turn.commit();
                } else {
                    self.turn.abort();
                }
            }
            Err(why) => {
                self.turn.abort();
                take(&context.machine, Err(why));
            }
        }
        self.end_between();
    }

    /// The state of an actor that is to be held, or why it stays as it is.
    fn state_of_held(&mut self, actor: &Actor, hold: &Hold) -> Result<Value, Stays> {
        let id = actor.header().behaviour();
        let program = self.turn.around.program.clone();
        let code = program.behaviour(id);
        if id == BehaviourId::SINK {
            return Err(Stays::Sink);
        }
        if id.is_socket() {
            return Err(Stays::Socket);
        }
        if id == hold.held.id {
            return Err(Stays::Held);
        }
        if code.safe {
            return Err(Stays::Safe);
        }
        if self.away.as_ref().is_some_and(|away| away.is_away(actor)) {
            return Err(Stays::Busy);
        }
        let present = program.find((code.module, code.name, code.captures.into()));
        // Its number may be that of an older version, which this one has taken over.
        if present.is_none_or(|(present, _)| !std::ptr::eq(program.behaviour(present), code)) {
            return Err(Stays::Stale);
        }
        let n = code.captures as usize;
        let values: Vec<Value> = actor.captured(n).collect();
        let words = || self.context.machine.pool().quota.held() / size_of::<Value>();
        let lender = || Some(self.context.machine.shared_pool() as Arc<dyn Lender>);
        if values.iter().any(|v| exceeds(*v, words, lender)) {
            return Err(Stays::TooLarge);
        }
        let heap = &mut self.turn.heap;
        let was = heap.tuple(n, |i| values[i]);
        if was.is_none() {
            return Err(Stays::NoMemory);
        }
        let captures = [
            was,
            Value::fixnum(id.0 as i64),
            Value::fixnum(hold.holder as i64),
            Value::NIL,
        ];
        let state = heap.captures(captures.len(), |i| captures[i]);
        state.ok_or(Stays::NoMemory)
    }

    /// Lets an actor go on here, where it is owned, or passes that on to its owner.
    fn go_on(&mut self, target: Target, hold: Hold, next: GoesOn, told: GoneOn) {
        let context = self.context.clone();
        // SAFETY: the caller resolved a handle, and the inbox has kept the actor since.
        let actor = unsafe { &*target.0 };
        if let Some(owner) = self.own_or_find_owner(actor) {
            context
                .machine
                .push(&owner, going(target, hold, next, told));
            return;
        }
        let gone = self.goes_on(actor, &hold, next);
        told(&context.machine, gone);
    }

    pub(crate) fn goes_on(
        &mut self,
        actor: &Actor,
        hold: &Hold,
        next: GoesOn,
    ) -> Result<(), Stays> {
        let Some([was, id, kept]) = self.held_by(actor, hold) else {
            return Err(Stays::NotHeld);
        };
        self.begin_between(actor);
        let becomes = match next {
            GoesOn::Back => self.becomes_again(was, id),
            GoesOn::As(version, captures) => self.becomes_new(version.id, captures),
        };
        let gone = match becomes {
            Some((id, state)) => {
                self.turn.become_next(id, state);
                let unusual = &mut self.turn.unusual;
                self.turn.at_commit.stash.put(kept, unusual);
                let unstashed = self.turn.unstashed(&mut Vec::new());
                self.turn.commit();
                // All that it could do is to stash a message that is to be done now.
                self.call_back(actor);
                if !unstashed.is_empty() {
                    self.take_up_again(&unstashed);
                }
                Ok(())
            }
            None => {
                self.turn.abort();
                Err(Stays::NoMemory)
            }
        };
        self.end_between();
        gone
    }

    /// Returns what an actor was, its behaviour, and the messages that it has kept, if `hold` holds it.
    fn held_by(&self, actor: &Actor, hold: &Hold) -> Option<[Value; 3]> {
        let id = hold.held.id;
        let code = self.turn.around.program.behaviour(id);
        if actor.header().behaviour() != id || code.captures != HELD {
            return None;
        }
        let captured: Vec<Value> = actor.captured(HELD as usize).collect();
        let [was, id, holder, kept] = captured[..] else {
            return None;
        };
        (holder.as_fixnum() == Some(hold.holder as i64)).then_some([was, id, kept])
    }

    fn becomes_again(&mut self, was: Value, id: Value) -> Option<(BehaviourId, Value)> {
        let values = was.as_tuple().unwrap_or(&[]);
        let id = BehaviourId(id.as_fixnum()? as u32);
        let state = self.turn.heap.captures(values.len(), |i| values[i])?;
        Some((id, state))
    }

    fn becomes_new(&mut self, id: BehaviourId, captures: Parcel) -> Option<(BehaviourId, Value)> {
        let n = self.turn.around.program.behaviour(id).captures as usize;
        let heap = &mut self.turn.heap;
        let captures = captures.unpack(heap, &mut Vec::new());
        let values = captures.as_tuple()?;
        let state = heap.captures(n, |i| values.get(i).copied().unwrap_or(Value::UNDEFINED))?;
        Some((id, state))
    }

    /// Begins a turn of the actor without an event. As that, what follows is committed or aborted.
    fn begin_between(&mut self, actor: &Actor) {
        // A pointer to the whole block, of which a collection has marks beside the actor: not made of the reference.
        let address = std::ptr::from_ref(actor).addr();
        self.turn.begin(Event {
            target: std::ptr::with_exposed_provenance(address),
            message: Value::NIL,
        });
    }

    fn end_between(&mut self) {
        self.turn.tidy_up();
        self.turn.actor = std::ptr::null();
    }
}
