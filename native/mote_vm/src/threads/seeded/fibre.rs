//! One dispatcher of a seeded machine.
use super::{EventFate, Seeded};
use crate::code::program::BehaviourCode;
use crate::threads::fault::Fault;
use crate::threads::presence::Presence;
use crate::threads::thread::Dispatch;
use crate::turns::queue::Event;
use crate::values::actor::Actor;
use crate::values::value::Value;
use std::any::Any;
use std::sync::mpsc::Sender;

/// A dispatcher that shares the system thread with all others.
pub(crate) struct Fibre {
    // Boxed: the collector gets its address.
    pub(super) dispatch: Box<Dispatch>,
    /// Told by being dropped when it has ended.
    _ended: Sender<()>,
}

impl Fibre {
    pub(crate) fn new(dispatch: Dispatch, ended: Sender<()>) -> Fibre {
        Fibre {
            dispatch: Box::new(dispatch),
            _ended: ended,
        }
    }

    fn presence(&self) -> &Presence {
        &self.dispatch.context.station.presence
    }

    /// Begins: whoever pushes something wakes the system thread.
    pub(super) fn begin(&mut self) {
        self.dispatch.context.station.parker.open(true, None);
        self.dispatch.turn.heap.join_collection();
        self.dispatch.join_watches();
        self.show();
    }

    /// Leaves its state to the collector, while another one runs.
    pub(super) fn show(&mut self) {
        self.dispatch.show();
    }

    pub(super) fn has_events(&self) -> bool {
        !self.dispatch.turn.queue.is_empty() && !self.dispatch.is_full_away()
    }

    /// Returns whether a turn of it is outside (away.rs).
    pub(super) fn is_anybody_away(&self) -> bool {
        self.dispatch.is_anybody_away()
    }

    /// Returns whether it has taken in messages from outside that wait to be admitted.
    pub(super) fn has_arrivals(&self) -> bool {
        !self.dispatch.seeded.arrivals.is_empty()
    }

    pub(super) fn is_pending(&self) -> bool {
        self.dispatch.context.station.inbox.is_pending()
    }

    pub(super) fn number(&self) -> u16 {
        self.dispatch.context.station.number
    }

    /// Takes in what has come from others.
    pub(super) fn take_in(&mut self) {
        if self.is_pending() {
            self.presence().wake();
            self.dispatch.drain();
            self.presence().sleep();
        }
    }

    /// Does what callers want, and collects if it is due. Returns whether it goes on.
    pub(super) fn keep(&mut self) -> bool {
        self.presence().wake();
        let goes_on = self.dispatch.keep();
        self.presence().sleep();
        goes_on
    }

    /// Runs one turn.
    pub(super) fn play(&mut self) {
        self.presence().wake();
        self.dispatch.play();
        self.presence().sleep();
    }

    /// Takes in one message from outside. Returns whether there was one.
    pub(super) fn admit(&mut self) -> bool {
        self.presence().wake();
        let admitted = self.dispatch.admit();
        self.presence().sleep();
        admitted
    }

    /// Fires what is due, here or elsewhere.
    pub(super) fn look_at_the_clock(&mut self) {
        self.presence().wake();
        self.dispatch.look_at_the_clock();
        self.dispatch.hand_over_all();
        self.presence().sleep();
    }

    /// Returns whether it has something for others.
    pub(super) fn owes(&self) -> bool {
        self.dispatch.owes()
    }

    /// Creates the fault for a panic in it.
    pub(super) fn fault(&self, payload: &(dyn Any + Send)) -> Fault {
        let sponsor = self.dispatch.context.sponsor.name;
        Fault::of(payload, sponsor, self.dispatch.running_turn())
    }

    /// The end.
    pub(super) fn end(self) {
        self.presence().wake();
        self.dispatch.leave();
    }
}

impl Dispatch {
    /// The turn that a panic has ended; none between turns, where no behaviour is to blame.
    pub(crate) fn running_turn(&self) -> Option<(&BehaviourCode, Value)> {
        let turn = self.running.filter(|_| !self.turn.actor.is_null());
        // SAFETY: behaviour code lives as long as the program, which the machine holds.
        turn.map(|(code, message)| (unsafe { &*code }, message))
    }

    fn keep(&mut self) -> bool {
        self.keep_house();
        self.run_tasks();
        if self.duties.retiring {
            self.retire();
            return false;
        }
        self.hand_over_all();
        true
    }

    fn play(&mut self) {
        let traces = self.context.machine.attention().traces();
        self.take_up_held();
        // What came in between was accepted before.
        self.turn.queue.forgive();
        if let Some(event) = self.next_event() {
            if self.away.is_some() {
                self.send_away(event);
            } else if self.may_run(event) {
                self.watched_turn(event, &traces);
            }
            self.note_sender(event.target);
        }
        self.hand_over_all();
        self.publish();
        let position = self.turn.queue.position();
        self.turn.savepoint.queue = position;
    }

    /// Notes that events queued since the last time are from that actor, whose turn has run.
    pub(crate) fn note_sender(&mut self, actor: *const Actor) {
        self.seeded.senders.keep_up(self.turn.queue.len(), actor);
    }

    /// The event that a paused machine runs next in one step. Messages from outside enter as when it runs.
    pub(crate) fn next_in_step(&mut self) -> Option<Event> {
        let machine = self.context.machine.clone();
        let number = self.context.station.number;
        if let Some(Seeded { choices, line, .. }) = machine.seeded() {
            while (line.lets_in(choices) || self.turn.queue.is_empty()) && line.take_for(number) {
                self.admit();
            }
        }
        self.next_event()
    }

    /// The event to run next: where a sponsor is to have several threads, any that waits, or the one that an order names.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        if let Some(choices) = self
            .seeded
            .choices
            .as_ref()
            .filter(|_| self.seeded.shuffled)
        {
            let choices = choices.clone();
            let keep_up = |dispatch: &mut Dispatch| {
                let queued = dispatch.turn.queue.len();
                dispatch.seeded.senders.keep_up(queued, std::ptr::null());
            };
            keep_up(self);
            while let Some((place, fate)) = choices.place() {
                if fate == EventFate::Fires {
                    let station = &self.context.station;
                    let timer = station.timers.nth(place);
                    self.fire_now(timer.as_slice());
                    keep_up(self);
                    continue;
                }
                let queue = &mut self.turn.queue;
                if place >= queue.len() {
                    break;
                }
                let mut before: Vec<Event> = (0..place).filter_map(|_| queue.pop()).collect();
                let event = queue.pop();
                match fate {
                    EventFate::Twice => before.extend(event),
                    _ => self.seeded.senders.take(place),
                }
                queue.prepend(&before);
                // They had been accepted before.
                queue.forgive();
                if fate != EventFate::Lost {
                    self.seeded.aborts = fate == EventFate::Aborted;
                    return event;
                }
            }
            let queue = &mut self.turn.queue;
            let next = self.seeded.senders.may_be_next(queue);
            if let Some(&ahead) = next.get(choices.choose(next.len())) {
                queue.bring_forward(ahead);
                self.seeded.senders.take(ahead);
            }
        }
        self.turn.queue.pop()
    }
}
