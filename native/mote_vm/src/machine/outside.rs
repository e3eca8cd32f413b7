//! The operations of the outside on actors: it sends to them, looks at them and holds them. Creating them is in creating.rs.
//!
//! Invariant: the outside refers to actors by handle only; a handle keeps its actor.
use super::Machine;
use crate::base::atom::Atom;
use crate::base::ids::ThreadNumber;
use crate::boundary::parcel::Parcel;
use crate::boundary::refusal::{NotEntered, Refusal};
use crate::boundary::room::{InLine, Permit};
use crate::boundary::turn_away::TurnEnd;
use crate::heap::block::BlockPool;
use crate::look::entries::{self, EntriesLook};
use crate::look::inspect::{self, ActorVisit};
use crate::machine::contract::{BehaviourVersion, LaunchError, Look, Outcome};
use crate::threads::inbox::{Entry, Inbox, Sender, Wakes};
use crate::threads::sponsor::Sponsor;
use crate::threads::stand_in::WaitingCaller;
use crate::threads::station::Station;
use crate::threads::thread::Dispatch;
use crate::values::actor::{Actor, SponsorId};
use crate::values::foreign::Carrier;
use crate::values::handles::{Held, Key, Target};
use crate::values::term::ActorRef;
use std::any::Any;
use std::sync::Arc;

/// Bytes that are charged to a machine as its heaps are, and are given back when this goes.
pub struct OutsideCharge {
    pool: Arc<BlockPool>,
    bytes: usize,
}

impl Drop for OutsideCharge {
    fn drop(&mut self) {
        self.pool.let_go_outside(self.bytes);
    }
}

/// The result of a push: whether the message has entered.
type Pushed = Result<Wakes, (NotEntered, Entry)>;

/// The sponsor that a message enters by, if that is not the first one, and the number of the thread of it.
#[derive(Default)]
pub(super) struct Via(Option<Arc<Sponsor>>, ThreadNumber);

impl Machine {
    /// Creates an actor that nobody knows, for one message, by that sponsor or the first one: as `create` and `send` do, but
    /// for the handle. `known` gets the actor before it can run.
    pub fn launch(
        &self,
        behaviour: &BehaviourVersion,
        sponsor: Option<SponsorId>,
        captures: Parcel,
        mut message: Parcel,
        known: impl FnOnce(ActorRef<'_>),
    ) -> Result<(), LaunchError> {
        if !message.is_for(&self.0.handles) {
            return Err(LaunchError::Send(Refusal::Unknown));
        }
        // Until the inbox keeps them.
        let _held = message.take_held();
        let mut via = Via::default();
        let push = |inbox: &Inbox, entry| inbox.push_from_outside(entry, &mut None, Sender::GoesOn);
        let pushed = self
            .create_for(behaviour, None, captures, |actor| {
                known(ActorRef::new(actor));
                self.enter(&mut via, sponsor, actor, message, push)
            })
            .map_err(LaunchError::Create)?;
        self.entered(&via, pushed, Sponsor::entered)
            .map_err(LaunchError::Send)
    }

    /// All threads may be asleep: then one must hear of it.
    pub(super) fn collect_if_due(&self) {
        if self.0.pool.pace.is_due() {
            self.0.sponsors.first().lead().wake();
        }
    }

    /// Returns whether there is memory for `bytes` more bytes.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.0.pool.quota.fits(bytes)
    }

    /// Charges `bytes` that are kept outside of all heaps until the charge goes, however many cells refer to them; `None` where
    /// there is no memory for that, which the caller counts. Only a collection frees what refers to them, so they hasten the next
    /// one.
    pub fn charge_outside(&self, bytes: usize) -> Option<OutsideCharge> {
        let pool = self.0.pool.clone();
        if !pool.hold_outside(bytes) {
            self.fall_short();
            return None;
        }
        Some(OutsideCharge { pool, bytes })
    }

    /// Notes that `count` things from outside were refused for want of memory.
    pub fn lacked_memory(&self, count: u64) {
        self.0.ended.lock().counts.refused_no_memory += count;
        self.fall_short();
    }

    /// Notes that there is no memory for something: a collection may find some.
    pub(super) fn fall_short(&self) {
        self.0.pool.short();
        self.collect_if_due();
    }

    /// Sends to the actor of a handle, by that sponsor or the first one.
    pub fn send(
        &self,
        target: Key,
        sponsor: Option<SponsorId>,
        message: Parcel,
    ) -> Result<(), Refusal> {
        self.send_with(None, target, sponsor, message, None)
    }

    /// Sends for a caller that has waited for room.
    pub fn send_permitted(
        &self,
        permit: Permit,
        target: Key,
        sponsor: Option<SponsorId>,
        message: Parcel,
    ) -> Result<(), Refusal> {
        self.send_with(Some(permit), target, sponsor, message, None)
    }

    pub(super) fn send_with(
        &self,
        mut permit: Option<Permit>,
        target: Key,
        sponsor: Option<SponsorId>,
        message: Parcel,
        caller: Option<&WaitingCaller<'_>>,
    ) -> Result<(), Refusal> {
        let sender = caller.map_or(Sender::GoesOn, |_| Sender::Waits);
        let push = |inbox: &Inbox, entry| inbox.push_from_outside(entry, &mut permit, sender);
        self.put_in(
            target,
            sponsor,
            message,
            push,
            |sponsor, station, wakes| match caller {
                // Its caller does so when that is noted (asking.rs).
                Some(_) if self.journal().is_some() => {}
                Some(caller) => self.stand_in(station, caller),
                None => sponsor.entered(station, wakes),
            },
        )
    }

    /// Sends on behalf of another machine's turn, which has been committed, so it cannot wait, or for the embedder itself: the message
    /// enters whether there is room or not. Where there is no memory it is lost, like a message that finds an outbox full.
    pub fn send_between(
        &self,
        target: Key,
        sponsor: Option<SponsorId>,
        message: Parcel,
    ) -> Result<(), Refusal> {
        let push = |inbox: &Inbox, entry| inbox.push_between(entry);
        self.put_in(target, sponsor, message, push, Sponsor::entered)
    }

    /// Puts a message where it enters, by `push`; then, if it has entered, does what is to follow.
    fn put_in(
        &self,
        target: Key,
        sponsor: Option<SponsorId>,
        mut message: Parcel,
        push: impl FnOnce(&Inbox, Entry) -> Pushed,
        then: impl FnOnce(&Sponsor, &Station, Wakes),
    ) -> Result<(), Refusal> {
        if !message.is_for(&self.0.handles) {
            return Err(Refusal::Unknown);
        }
        if !self.admits() {
            return Err(Refusal::NotDurable);
        }
        // Until the inbox keeps them.
        let _held = message.take_held();
        let mut via = Via::default();
        // Only what is short is done here: the target is kept by the handles' lock.
        let pushed = self.0.handles.visit(target, |actor, pinned| {
            self.enter(&mut via, pinned.or(sponsor), actor, message, push)
        });
        self.entered(&via, pushed.ok_or(Refusal::Unknown)?, then)
    }

    /// Puts a message where it enters, which is noted down. The caller drops what is refused, without any lock.
    #[inline(always)]
    fn enter(
        &self,
        via: &mut Via,
        sponsor: Option<SponsorId>,
        actor: *const Actor,
        message: Parcel,
        push: impl FnOnce(&Inbox, Entry) -> Pushed,
    ) -> Pushed {
        let station = self.find_way(via, sponsor, actor);
        match push(&station.inbox, Entry::Message(Target(actor), message)) {
            Err((NotEntered::Closed, entry)) => {
                // It was removed in this very moment: as what was there already, the message goes to the first.
                let lead = self.sponsors().first().lead();
                *via = Via(None, lead.number);
                let pushed = lead.inbox.push(entry);
                pushed.map_err(|entry| (NotEntered::Closed, entry))
            }
            pushed => pushed,
        }
    }

    /// Returns the thread by which a message to an actor enters that is kept meanwhile, and notes it down.
    #[inline(always)]
    pub(super) fn find_way<'a>(
        &'a self,
        via: &'a mut Via,
        sponsor: Option<SponsorId>,
        actor: *const Actor,
    ) -> &'a Arc<Station> {
        via.0 = sponsor.and_then(|id| self.sponsors().other(id));
        let entrance = via.0.as_ref().unwrap_or_else(|| self.sponsors().first());
        // SAFETY: whoever calls keeps the actor, or has shown it to nobody yet.
        let station = unsafe { entrance.entrance(actor) };
        via.1 = station.number;
        station
    }

    /// Returns the thread by which messages to an actor enter, if `named` is the sponsor that the caller names.
    pub(super) fn way_to(&self, target: &Held, named: Option<SponsorId>) -> Arc<Station> {
        let named = target.pinned.or(named);
        self.find_way(&mut Via::default(), named, target.actor)
            .clone()
    }

    /// Returns the outcome of a push, and calls `then` if the message has entered.
    #[inline(always)]
    fn entered(
        &self,
        via: &Via,
        pushed: Pushed,
        then: impl FnOnce(&Sponsor, &Station, Wakes),
    ) -> Result<(), Refusal> {
        match pushed {
            Ok(wakes) => {
                let Via(sponsor, thread) = via;
                let sponsor = sponsor.as_ref().unwrap_or_else(|| self.sponsors().first());
                let station = sponsor.station(*thread).unwrap_or_else(|| sponsor.lead());
                if let Some(seeded) = &self.0.seeded {
                    seeded.line.put(station.number, 1);
                }
                then(sponsor, station, wakes);
                Ok(())
            }
            Err((NotEntered::Refused(refusal), _)) => {
                if refusal == Refusal::NoMemory {
                    self.lacked_memory(1);
                }
                Err(refusal)
            }
            // The first one ends only with the machine.
            Err((NotEntered::Closed, _)) => Err(Refusal::Stopped),
        }
    }

    /// Waits in line for room in the sponsor that such a send would enter; `waiter` is called on any thread, maybe at
    /// once. `None` when the handle belongs to another machine.
    pub fn wait_for_room(
        &self,
        target: Key,
        sponsor: Option<SponsorId>,
        waiter: impl FnOnce(Permit) + Send + 'static,
    ) -> Option<InLine> {
        let sponsor = self.entrance(&self.hold(target)?, sponsor);
        Some(InLine::wait(&sponsor.room, Box::new(waiter)))
    }

    /// Lets all callers go on that wait for room: they find out why by trying again. To be called when the embedder refuses what
    /// comes, for until [`bound_rooms`](Self::bound_rooms) no sponsor is full.
    pub fn release_waiters(&self) {
        for sponsor in self.sponsors().all() {
            sponsor.room.close();
        }
    }

    /// Lets sponsors be full again. To be called when the embedder takes what comes again.
    pub fn bound_rooms(&self) {
        for sponsor in self.sponsors().all() {
            sponsor.room.open();
        }
    }

    /// The name of the sponsor that such a send would enter; `None` when the handle belongs to another machine.
    pub fn sponsor_entered(&self, target: Key, sponsor: Option<SponsorId>) -> Option<Atom> {
        Some(self.entrance(&self.hold(target)?, sponsor).name)
    }

    /// Returns the sponsor where messages to an actor enter, if `named` is the sponsor that the caller names.
    pub(super) fn entrance(&self, target: &Held, named: Option<SponsorId>) -> Arc<Sponsor> {
        match target.pinned.or(named) {
            Some(id) => self.0.sponsors.by_id(id),
            None => self.0.sponsors.first().clone(),
        }
    }

    /// Holds an actor for whoever has its key, or lets go of it (handles/kept.rs). Returns whether there is such an actor.
    pub fn retain(&self, key: Key, kept: bool) -> bool {
        self.0.handles.retain(key, kept)
    }

    /// Counts messages that had been handed over and then found nobody.
    pub fn count_undelivered(&self, messages: u64) {
        self.0.ended.lock().counts.undelivered += messages;
    }

    /// A turn that was away has ended; while its thread sleeps, that is committed here. Whether the thread hears of it; it may know
    /// of another end already.
    pub fn end_turn(&self, number: u64, outcome: Outcome) -> bool {
        let Some(station) = self.stations().find(number as ThreadNumber) else {
            return false;
        };
        let ended = Box::new(TurnEnd { number, outcome });
        let Ok(wakes) = station.inbox.push(Entry::Ended(ended)) else {
            return false;
        };
        if wakes {
            self.end_in_place(&station);
        }
        true
    }

    /// Returns whether it runs by a seed.
    pub fn is_seeded(&self) -> bool {
        self.0.seeded.is_some()
    }

    /// The thread of a turn that was away looks anew for how long it may sleep.
    pub fn look_around(&self, number: u64) {
        if let Some(station) = self.stations().find(number as ThreadNumber) {
            station.wake();
        }
    }

    /// A handle of an actor seen in a term. The caller owns it.
    pub fn acquire(&self, actor: ActorRef<'_>) -> Key {
        // SAFETY: the term that the actor was seen in is borrowed from the running machine.
        let pinned = unsafe { (*actor.actor).header().pinned() };
        if self.journal().is_some() {
            // Turns have named those that they give out; another life would not know what a look has found.
            return self
                .0
                .handles
                .acquire_held(actor.actor)
                .unwrap_or(Key::NONE);
        }
        self.0.handles.acquire(actor.actor, pinned)
    }

    /// Returns whether an actor is that of a handle.
    pub fn is_of(&self, key: Key, actor: ActorRef<'_>) -> bool {
        self.0.handles.is_of(key, actor.actor)
    }

    /// Returns a handle.
    pub fn release(&self, key: Key) {
        self.0.handles.release(key);
    }

    /// Returns a handle, which takes a moment only: it is released later. Returns whether the caller is to have another thread
    /// [`Machine::settle`] those that have come together.
    #[must_use]
    pub fn release_later(&self, key: Key) -> bool {
        self.0.handles.end(key)
    }

    /// Returns whether many handles were returned and are not released yet.
    pub fn is_unsettled(&self) -> bool {
        self.0.handles.is_unsettled()
    }

    /// Releases all handles that were returned. Takes a second for a million.
    pub fn settle(&self) {
        self.0.handles.settle();
    }

    /// The actor of a handle, held for the moment; `None` when the handle belongs to another machine.
    pub fn hold(&self, key: Key) -> Option<Held> {
        self.0.handles.hold(key)
    }

    /// Looks at an actor between two of its turns, when what the caller sent to it before is done or queued; `look`
    /// runs on a dispatch thread. `false` when the handle belongs to another machine.
    #[must_use]
    pub fn inspect(&self, key: Key, look: Look) -> bool {
        let visit = |thread: &mut Dispatch, actor: &Actor| {
            look(&thread.context.machine, thread.inspection(actor));
        };
        self.visit(key, Box::new(visit))
    }

    /// Shows the entries of a directory's shard that come after a key, or the first ones, in the same way. Also `false` when the key
    /// belongs to another machine.
    #[must_use]
    pub fn inspect_entries(&self, shard: Key, after: Option<Parcel>, look: EntriesLook) -> bool {
        let is_ours = |after: &Parcel| after.is_for(&self.0.handles);
        after.as_ref().is_none_or(is_ours) && self.visit(shard, entries::visit(after, look))
    }

    fn visit(&self, key: Key, visit: ActorVisit) -> bool {
        let Some(target) = self.hold(key) else {
            return false;
        };
        let way = self.way_to(&target, None);
        self.push(&way, inspect::entry(Target(target.actor), visit));
        // From here on the inbox keeps it.
        drop(target);
        true
    }
}

/// The services that values need on their way out.
impl Carrier for Machine {
    fn embedder(&self) -> &dyn Any {
        self.0.embedder.as_any()
    }

    fn acquire(&self, actor: ActorRef<'_>) -> Key {
        Machine::acquire(self, actor)
    }

    fn hold(&self, key: Key) -> Option<Held> {
        Machine::hold(self, key)
    }

    fn module(&self, module: Atom) -> Option<u64> {
        Machine::module(self, module)
    }

    fn leaving(&self, messages: usize) {
        self.0.quiescence.add(messages);
    }

    fn have_left(&self, messages: usize, undelivered: u64) {
        if undelivered > 0 {
            let ended = &mut self.0.ended.lock().counts;
            ended.undelivered += undelivered;
            // The threads have counted them. The sum is right, and this part of it may be less than zero.
            ended.foreign_out = ended.foreign_out.wrapping_sub(undelivered);
        }
        self.0.quiescence.done(messages);
    }
}
