//! Finds the actors that hold foreign values of some kind, such as customers: in what they have captured, in messages that wait for
//! them, in the message of a turn that is away, or in a timer for them.
//!
//! Invariants:
//! 1. Each actor that reaches such a value without passing another actor is shown, also where several share it: a cell is walked
//!    once, unless such a value lies behind it. (Of a list that is longer than [`DEEP`], actors that share its end may be left out.)
//! 2. It reads only, and its time and memory are bounded: after [`MOST_CELLS`] it ends.
use super::survey::Survey;
use super::BehaviourName;
use crate::boundary::parcel::Parcel;
use crate::threads::inbox::{Entry, InboxItem};
use crate::turns::queue::Event;
use crate::values::actor::Actor;
use crate::values::foreign::ForeignRef;
use crate::values::term::ActorRef;
use crate::values::value::Value;
use crate::watching::reach::{captures, Reach};
use rustc_hash::FxHashSet;

/// Cells that are looked at: some seconds.
const MOST_CELLS: usize = 100_000_000;
/// Depth at which a walk forgets where it came from.
const DEEP: usize = 1 << 16;

/// The place where an actor has such a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HeldIn {
    /// The actor's captures.
    State,
    /// A message that waits for it.
    Message,
    /// The message of a turn of it that is away.
    Turn,
    /// A message that a timer will send to it.
    Timer,
}

/// An actor that holds such a value.
pub struct Holder<'m> {
    /// The actor.
    pub actor: ActorRef<'m>,
    /// Its behaviour.
    pub behaviour: BehaviourName,
    /// The place where it has the value.
    pub held: HeldIn,
}

impl Survey<'_> {
    /// Shows every actor that holds a foreign value that `is` wanted, with the value.
    pub fn holders<'s>(
        &'s self,
        is: impl Fn(&ForeignRef) -> bool,
        mut show: impl FnMut(Holder<'s>, &ForeignRef),
    ) {
        let mut walk = HolderWalk {
            reach: Reach::new(self.machine.program()),
            leading: FxHashSet::default(),
            is,
        };
        let mut found = |actor: *const Actor, held: HeldIn, values: &[ForeignRef]| {
            for value in values {
                let holder = Holder {
                    actor: ActorRef::new(actor),
                    behaviour: self.behaviour(actor),
                    held,
                };
                show(holder, value);
            }
        };
        // Messages first: so the actors that only they lead to are met as well.
        self.each_message(|actor, held, message| {
            walk.reach.meet(actor);
            let values = match message {
                WaitingMessage::Value(value) => walk.behind(value),
                WaitingMessage::Parcel(parcel) => {
                    let foreigns = parcel.foreigns().iter();
                    foreigns.filter(|value| (walk.is)(value)).cloned().collect()
                }
            };
            found(actor, held, &values);
        });
        for root in self.roots() {
            walk.behind(root);
        }
        while let Some(actor) = walk.reach.next_actor() {
            // SAFETY: reachable, so alive.
            let record = unsafe { &*actor };
            for value in captures(self.machine.program(), record) {
                found(actor, HeldIn::State, &walk.behind(value));
            }
        }
    }

    /// Shows every message that waits for an actor, and that of every turn that is away.
    fn each_message(&self, mut show: impl FnMut(*const Actor, HeldIn, WaitingMessage<'_>)) {
        let mut event =
            |held, event: Event| show(event.target, held, WaitingMessage::Value(event.message));
        for thread in &self.threads {
            let message = |e| event(HeldIn::Message, e);
            thread.turn.queue.each(message);
            let message = |e| event(HeldIn::Message, e);
            thread.turn.leaving.each(message);
            if let Some(away) = &thread.away {
                away.each_turn(|e| event(HeldIn::Turn, e));
                away.each_waiting(|e| event(HeldIn::Message, e));
            }
            if let Some(net) = &thread.net {
                net.sockets.each_waiting(|target, message| {
                    event(HeldIn::Message, Event { target, message });
                });
            }
        }
        for station in self.machine.stations().all() {
            station.timers.each_message(|target, message| {
                if target.is_address() {
                    show(
                        target.address_pointer(),
                        HeldIn::Timer,
                        WaitingMessage::Value(message),
                    );
                }
            });
            station.inbox.each(|item| match item {
                InboxItem::Event(e) => {
                    show(e.target, HeldIn::Message, WaitingMessage::Value(e.message))
                }
                InboxItem::Entry(Entry::Given(events)) => events.iter().for_each(|e| {
                    show(e.target, HeldIn::Message, WaitingMessage::Value(e.message))
                }),
                InboxItem::Entry(Entry::Message(target, parcel)) => {
                    show(target.0, HeldIn::Message, WaitingMessage::Parcel(parcel));
                }
                // Batches carry no customers but those that processes pass on.
                InboxItem::Entry(_) => {}
            });
        }
        for thread in &self.threads {
            for (target, parcel) in &thread.seeded.arrivals {
                show(target.0, HeldIn::Message, WaitingMessage::Parcel(parcel));
            }
        }
    }
}

/// A message, as a value or on its way in.
enum WaitingMessage<'p> {
    Value(Value),
    Parcel(&'p Parcel),
}

struct HolderWalk<'w, F> {
    reach: Reach<'w>,
    /// Cells behind which such values lie: another actor that reaches them holds these as well.
    leading: FxHashSet<u64>,
    is: F,
}

/// A cell that is walked: what is left of it, and whether it leads to such a value.
struct WalkFrame<'h> {
    word: u64,
    rest: &'h [Value],
    leads: bool,
}

impl<F: Fn(&ForeignRef) -> bool> HolderWalk<'_, F> {
    /// Returns what is wanted behind a value, up to the next actors, which are met.
    fn behind(&mut self, value: Value) -> Vec<ForeignRef> {
        let mut found = Vec::new();
        // Leading cells that were walked for this value: once is enough.
        let mut walked = FxHashSet::default();
        let mut frames: Vec<WalkFrame<'_>> = Vec::new();
        let mut next = Some(value);
        loop {
            if let Some(value) = next.take() {
                let before = found.len();
                let frame = self.enter(value, &mut walked, &mut found);
                if let Some(above) = frames.last_mut() {
                    above.leads |= found.len() > before;
                    // What a long list is part of is forgotten, rather than keeping room for all of it.
                    if frame.is_some() && above.rest.is_empty() && frames.len() > DEEP {
                        frames.pop();
                    }
                }
                frames.extend(frame);
            }
            let Some(frame) = frames.last_mut() else {
                return found;
            };
            if let Some((first, rest)) = frame.rest.split_first() {
                frame.rest = rest;
                next = Some(*first);
                continue;
            }
            if let Some(WalkFrame {
                word, leads: true, ..
            }) = frames.pop()
            {
                self.leading.insert(word);
                walked.insert(word);
                if let Some(above) = frames.last_mut() {
                    above.leads = true;
                }
            }
        }
    }

    /// Looks at one value, and returns what is to be walked of it.
    fn enter<'h>(
        &mut self,
        value: Value,
        walked: &mut FxHashSet<u64>,
        found: &mut Vec<ForeignRef>,
    ) -> Option<WalkFrame<'h>> {
        if value.is_immediate() || value.is_none() || self.reach.scanned >= MOST_CELLS {
            return None;
        }
        if value.is_address() {
            self.reach.meet(value.address_pointer());
            return None;
        }
        if let Some(foreign) = value.as_foreign() {
            found.extend((self.is)(foreign).then(|| foreign.clone()));
            return None;
        }
        let word = value.word();
        let mut again = || self.leading.contains(&word) && walked.insert(word);
        if !self.reach.first_look(value) && !again() {
            return None;
        }
        Some(WalkFrame {
            word,
            rest: match value.is_cons() {
                true => value.cons_cell(),
                false => value.boxed_parts(),
            },
            leads: false,
        })
    }
}
