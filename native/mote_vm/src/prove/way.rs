//! The way to a situation, as a machine can go it: which of its queued events is next, turn by turn.
//!
//! A search knows events by their places among those that are written. A machine has them in a queue: what is sent comes to its
//! end, in the order of the program, and what an actor gives back to itself before all others.
use super::search::Search;
use super::turn::after;
use super::written::write;
use crate::threads::thread::Dispatch;

impl Search {
    /// The places in the queue of the events that a way takes; `None` when there is no memory for it.
    pub(super) fn places(&mut self, dispatch: &mut Dispatch, way: &[u16]) -> Option<Vec<u32>> {
        let mut words = self.first.words.clone();
        // The events in the order of the queue, by numbers of their own, and those of the events as they are written.
        let mut queue: Vec<u32> = (0..self.first.places.len() as u32).collect();
        let mut names = self.first.places.clone();
        let mut given = names.len() as u32;
        let mut places = Vec::with_capacity(way.len());
        for &event in way {
            let at = usize::from(event);
            let from = dispatch.turn.heap.position();
            let live = self.enter(dispatch, &words);
            let next = live.and_then(|live| {
                let place = queue.iter().position(|name| *name == names[at])?;
                queue.remove(place);
                names.remove(at);
                places.push(place as u32);
                let pending = &live.situation.pending[at];
                let deed = dispatch.act_out(pending, self.limits.ordered, &mut self.parts);
                let name = |count: usize| -> Vec<u32> {
                    let from = given;
                    given += count as u32;
                    (from..given).collect()
                };
                let [first, last] = [deed.queued.first.len(), deed.queued.last.len()].map(name);
                queue.splice(..0, first.iter().copied());
                names.splice(..0, first);
                queue.extend(&last);
                names.extend(last);
                let program = dispatch.turn.around.program.clone();
                let parts = &mut self.parts;
                let written = after(&live.situation, at, &deed, &program, |after| {
                    write(after, &program, parts)
                });
                dispatch.forget_rehearsal();
                written.ok()
            });
            dispatch.turn.heap.rewind(from);
            let next = next?;
            words = next.words;
            names = next
                .places
                .iter()
                .map(|place| names[*place as usize])
                .collect();
        }
        Some(places)
    }
}
