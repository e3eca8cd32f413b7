//! Events whose actor this thread does not own, or is about to give away: the turn runs all the same, the actor is taken over
//! or asked for, or the event is passed on.
//!
//! | the actor | what happens |
//! |---|---|
//! | is in transit to this thread | the event is held until it has come |
//! | is this thread's, but a thread of another sponsor has asked for it | the event waits until the actor goes |
//! | is pinned to another sponsor | the event goes there |
//! | has a safe behaviour | the turn runs here, and no thread owns the actor: it never becomes |
//! | has no owner | it is taken over, and the turn runs here; if it is pinned, by the sponsor's lead |
//! | belongs to a thread that is asleep and has nothing to do | it is taken over, and the turn runs here |
//! | belongs to a thread of this sponsor | the event is forwarded to it |
//! | belongs to a thread of another sponsor | that thread is asked to give it away, with the event |
//!
//! Forwarded events wait on this thread until the end of its batch and travel together. giving.rs says what keeps their order.
mod readdressing;
mod takeover;

use crate::base::ids::ThreadNumber;
use crate::base::interleaving::others_may_act;
use crate::threads::inbox::NotIn;
use crate::threads::station::Station;
use crate::threads::thread::Dispatch;
use crate::threads::thread_context::ThreadContext;
use crate::turns::leaving::{Claim, ListKind};
use crate::turns::queue::Event;
use crate::turns::turn::Turn;
use crate::values::actor::{Decided, Header};
use crate::values::value::Value;
use std::sync::Arc;
use takeover::Taken;

/// A thread whose queue is this many times as long as the turns that it has run goes on before it gives what others want:
/// looking through all of it would take longer.
const BUSY: u64 = 8;

impl ThreadContext {
    /// Returns whether the event can run here and now. Otherwise it is on its way, or held.
    #[cold]
    #[inline(never)]
    pub(crate) fn route(&self, turn: &mut Turn, event: Event) -> bool {
        let actor = event.actor();
        let me = self.station.number;
        let header = actor.header();
        // By far the most frequent case, and no order is promised.
        if header.pinned().is_none() && turn.around.program.behaviour(header.behaviour()).safe {
            if header.owner() == 0 {
                // Its next event here needs no route.
                self.take(actor, header);
            } else if header.owner() == me && header.is_asked_for() {
                // Whoever asks for it can run it without.
                turn.leaving.forget_asker(actor);
                actor.forget_asker();
            }
            return true;
        }
        loop {
            if turn.leaving.holds(event.target) {
                break;
            }
            let header = actor.header();
            others_may_act();
            // giving.rs, invariant 2: what is known of it is as old as the lists, or they are put right.
            if self.put_lists_right(turn) {
                continue;
            }
            let owner = header.owner();
            if owner == me {
                if header.is_in_transit() {
                    break;
                }
                self.settle(actor);
                turn.leaving.see_next(&event);
                let waits = turn.leaving.is_due(actor);
                if waits {
                    turn.leaving.wanted.push(event);
                }
                return !waits;
            }
            if let Some(to) = self.entrance_of(header) {
                if self.forward(turn, event, to) {
                    turn.counts.sendx += 1;
                    return false;
                }
                continue;
            }
            if turn.around.program.behaviour(header.behaviour()).safe {
                // Pinned to this sponsor.
                return true;
            }
            if owner == 0 {
                if self.take(actor, header) {
                    return true;
                }
                continue;
            }
            match self.take_over(turn, actor, header) {
                Taken::Yes => {
                    turn.counts.taken_over += 1;
                    return true;
                }
                Taken::Changed => continue,
                Taken::Later => break,
                Taken::No => {}
            }
            if self.sponsor.station(owner).is_some() {
                if self.forward(turn, event, owner) {
                    turn.counts.forwarded += 1;
                    if turn.leaving.has_for(owner) {
                        turn.leaving.elsewhere = (actor, owner);
                    }
                    return false;
                }
                continue;
            }
            // What was listed for it while the sponsor that it is pinned to was there goes first.
            if header.pinned().is_some() && self.hold_listed(turn, event.target, owner) {
                break;
            }
            if self.ask_for(turn, event, owner).is_ok() {
                return false;
            }
            // It gives actors away at this moment, or has just ended and will count as asleep.
            break;
        }
        turn.leaving.held.push(event);
        false
    }

    /// Forwards one more event for the actor whose owner was looked up a moment ago.
    #[inline]
    pub(crate) fn forward_again(&self, turn: &mut Turn, event: Event) {
        turn.counts.forwarded += 1;
        let owner = turn.leaving.elsewhere.1;
        turn.leaving.add(owner, ListKind::Owner, event);
    }

    /// Adds the event to the list of the thread that it is to go to by its actor's record, if that still says so. It is
    /// held if that thread's actors change hands at this moment: what such a list relies on would be over before it is
    /// known.
    fn forward(&self, turn: &mut Turn, event: Event, to: ThreadNumber) -> bool {
        if turn.leaving.has_for(to) {
            turn.leaving.add(to, ListKind::Owner, event);
            return true;
        }
        let version = self.at(to, |station| station.inbox.version());
        others_may_act();
        let still = self.goes_to(event.header()) == to;
        if still && version.is_multiple_of(2) {
            turn.leaving.begin(to, version, event);
        } else if still {
            turn.leaving.held.push(event);
        }
        still
    }

    /// The thread that events for an actor of that record go to; 0 if they run wherever they are.
    fn goes_to(&self, header: Header) -> ThreadNumber {
        self.entrance_of(header).unwrap_or(header.owner())
    }

    /// The thread that events for a pinned actor go to, where that is not as for others.
    fn entrance_of(&self, header: Header) -> Option<ThreadNumber> {
        let sponsor = self.machine.sponsors().by_id(header.pinned()?);
        let lead = sponsor.lead().number;
        let owner = header.owner();
        if sponsor.id == self.sponsor.id {
            // Messages from outside wait there for an actor that is nobody's: a thread that took it would overtake them.
            return (owner == 0 && lead != self.station.number).then_some(lead);
        }
        let is_inside = sponsor.station(owner).is_some();
        Some(if is_inside { owner } else { lead })
    }

    /// Asks another sponsor's thread for the event's actor.
    fn ask_for(&self, turn: &mut Turn, event: Event, owner: ThreadNumber) -> Result<(), NotIn> {
        let station = self.station_of(owner);
        let version = station.inbox.version();
        if event.header().owner() != owner {
            return Err(NotIn::Moved);
        }
        let me = self.station.number;
        let wakes = station.inbox.push_wanted(event, me, version)?;
        station.pushed(wakes);
        turn.counts.migrations += 1;
        turn.leaving.gone += 1;
        Ok(())
    }

    /// Applies `see` to the station of a number.
    #[inline]
    fn at<R>(&self, number: ThreadNumber, see: impl FnOnce(&Station) -> R) -> R {
        match self.sponsor.station(number) {
            Some(sibling) => see(sibling),
            None => see(&self.machine.stations().get(number)),
        }
    }

    /// The station of a number.
    pub(crate) fn station_of(&self, number: ThreadNumber) -> Arc<Station> {
        let sibling = self.sponsor.station(number).cloned();
        sibling.unwrap_or_else(|| self.machine.stations().get(number))
    }
}

impl Dispatch {
    /// Asks for the actor of an event queued here, for a thread of another sponsor that wants to run it.
    pub(crate) fn ask_from(&mut self, event: Event, by: ThreadNumber) {
        let Dispatch { context, turn, .. } = self;
        let claims = &mut turn.leaving.claims;
        let is_mine = event.header().owner() == context.station.number;
        if is_mine
            && !claims
                .iter()
                .any(|claim| claim.event.target == event.target)
        {
            event.actor().ask_for();
            let is_due = false;
            claims.push(Claim { event, by, is_due });
        }
    }

    /// Gives away the actors that threads of other sponsors want to run, and whose turn it is.
    pub(crate) fn migrate(&mut self) {
        let Dispatch { context, turn, .. } = self;
        let run = turn.counts.turns - turn.leaving.given_at;
        let is_busy = turn.queue.len() as u64 > BUSY * run;
        if turn.leaving.wanted.is_empty() || is_busy && self.seeded.choices.is_none() {
            return;
        }
        let due = turn.leaving.claims.iter().filter(|claim| claim.is_due);
        let mut askers: Vec<ThreadNumber> = due.map(|claim| claim.by).collect();
        askers.sort_unstable();
        askers.dedup();
        for asker in askers {
            let station = context.station_of(asker);
            for claim in &turn.leaving.claims {
                if claim.is_due && claim.by == asker {
                    claim.event.actor().decide(Some(Decided::Goes));
                }
            }
            context.give(turn, &station, |_, _| |_, _| false);
        }
        turn.leaving.given_at = turn.counts.turns;
        self.seeded.senders.forget();
    }

    /// Sends `event` in the name of a sponsor: the value of an atom, or none for this one.
    pub(crate) fn send_by(&mut self, sponsor: Value, event: Event) {
        if sponsor.is_none() {
            self.turn.queue.push(event.target, event.message);
            return;
        }
        let named = sponsor.as_atom();
        let found = named.and_then(|name| self.context.machine.sponsors().by_name(name));
        match found {
            None => {
                self.turn.counts.dropped += 1;
                self.turn.counts.sends -= 1;
            }
            Some(sponsor) if sponsor.id == self.context.sponsor.id => {
                self.turn.queue.push(event.target, event.message);
            }
            Some(sponsor) => {
                self.turn.counts.sendx += 1;
                let lead = sponsor.lead().number;
                self.turn.leaving.add(lead, ListKind::Entrance, event);
            }
        }
    }

    /// Queues held events before all others, where their actors have come or can be taken.
    pub(crate) fn take_up_held(&mut self) {
        if self.turn.leaving.held.is_empty() {
            return;
        }
        let me = self.context.station.number;
        let held = self.turn.leaving.take_up(|event| {
            others_may_act();
            let header = event.header();
            header.owner() != me || !header.is_in_transit()
        });
        self.turn.queue.prepend(&held);
        self.seeded.senders.forget();
    }
}
