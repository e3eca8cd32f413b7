//! The way to a situation, as a machine can go it: which of its queued events is next, turn by turn.
//!
//! A search knows events by their places among those that are written. A machine has them in a queue: what is sent comes to its
//! end, in the order of the program, and what an actor gives back to itself before all others.
use super::compact::RoomyBytes;
use super::deeds::DeedEnd;
use super::known::SearchKnowledge;
use super::looking::opened;
use super::numbering::Numbering;
use super::search::Search;
use super::situation::{Situation, TimerChange};
use super::written::{read, write};
use crate::threads::seeded::EventFate;
use crate::threads::thread::Dispatch;

impl Search {
    /// The places in the queue of the events that a way takes; `None` when there is no memory for it.
    pub(super) fn places(&mut self, dispatch: &mut Dispatch, way: &[u32]) -> Option<Vec<u32>> {
        let (mut here, mut next) = (Situation::default(), Situation::default());
        let mut words = self.first.clone();
        let mut numbering = Numbering::default();
        read(&words, &self.known.shapes, &mut here);
        // The events in the order of the queue, by numbers of their own, and those of the events as they are written.
        let mut names: Vec<u32> = (0..here.pending.len() as u32).collect();
        // The first timers come behind the first events, and are in no queue.
        let mut queue: Vec<u32> = (0..(names.len() - here.bounds.len()) as u32).collect();
        let mut given = names.len() as u32;
        let mut places = Vec::with_capacity(way.len());
        for &event in way {
            let (at, fate) = opened(event);
            read(&words, &self.known.shapes, &mut here);
            if fate == EventFate::Fires {
                next.after_firing(&here, at, &self.known.shapes);
                for change in &next.changes {
                    if let TimerChange::Fired(at, rank) = *change {
                        places.push(fate.step(rank as u32));
                        names.remove(at);
                        names.push(given);
                        queue.push(given);
                        given += 1;
                    }
                }
                words = self.written(&mut numbering, &next);
                continue;
            }
            let place = queue.iter().position(|name| *name == names[at])?;
            if fate != EventFate::Twice {
                queue.remove(place);
                names.remove(at);
            }
            places.push(fate.step(place as u32));
            let deed = self.deed(dispatch, &here, at, fate);
            let deed = self.known.deeds.of(deed);
            if deed.end == DeedEnd::Broken {
                return None;
            }
            let mut name = |count: usize| -> Vec<u32> {
                let from = given;
                given += count as u32;
                (from..given).collect()
            };
            let first = name(deed.given_back);
            let last = name(deed.queued.len() - deed.given_back);
            queue.splice(..0, first.iter().copied());
            names.splice(..0, first);
            queue.extend(&last);
            names.extend(last);
            let is_twice = fate == EventFate::Twice;
            next.after(&here, at, deed, is_twice, &self.known.shapes);
            for change in &next.changes {
                match *change {
                    // It is in no queue yet.
                    TimerChange::Armed => names.push(u32::MAX),
                    TimerChange::AtOnce(rank) => {
                        places.push(EventFate::Fires.step(rank as u32));
                        names.push(given);
                        queue.push(given);
                        given += 1;
                    }
                    TimerChange::Cancelled(Some(place)) => {
                        names.remove(place);
                    }
                    TimerChange::Cancelled(None) | TimerChange::Fired(..) => {}
                }
            }
            words = self.written(&mut numbering, &next);
        }
        Some(places)
    }

    /// A situation as it is written.
    fn written(&self, numbering: &mut Numbering, situation: &Situation) -> Vec<u8> {
        let SearchKnowledge { roots, shapes, .. } = &self.known;
        let mut room = RoomyBytes::default();
        numbering.number(situation, *roots, shapes);
        write(situation, numbering, shapes, &mut room);
        room.written(0, room.len()).to_vec()
    }
}
