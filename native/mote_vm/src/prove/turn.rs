//! One turn of a search: run by the code that runs any other turn, looked at, and undone.
use super::deeds::{Deed, DeedEnd, Sending, TimerDeed};
use super::parts::{Components, TooLarge};
use super::shapes::{Referent, Shapes, Sketching};
use super::situation::Situation;
use crate::base::atom::Atom;
use crate::base::ids::TimerId;
use crate::threads::run_turn::Verdict;
use crate::threads::thread::Dispatch;
use crate::turns::queue::Event;
use crate::turns::turn::at_commit::{Due, TimerStep};
use crate::values::actor::BehaviourId;
use crate::values::value::Value;
use rustc_hash::FxHashMap;

/// An event in the heap, whose turn can be run.
struct Staging {
    event: Event,
    /// The shape of its actor.
    shape: u32,
    /// The places at which actors are named first, and their number (deeds.rs, invariant 1).
    known: FxHashMap<Referent, u32>,
    next: u32,
}

impl Dispatch {
    /// Runs an event's turn and undoes it. `ordered`: messages of one actor to another keep their order.
    pub(super) fn act_out(
        &mut self,
        situation: &Situation,
        event: usize,
        ordered: bool,
        (shapes, parts): (&mut Shapes, &mut Components),
    ) -> Result<Deed, TooLarge> {
        let from = self.turn.heap.position();
        let deed = match self.put_on(situation, event, shapes, parts) {
            None => Ok(Deed::nothing(DeedEnd::Broken)),
            Some(staging) => {
                let verdict = self.rehearse(staging.event);
                let deed = self.staged(staging, verdict, ordered, (shapes, parts));
                let draws = self.forget_rehearsal();
                let asks = self.turn.around.clock.was_asked();
                deed.map(|deed| Deed {
                    draws,
                    asks,
                    ..deed
                })
            }
        };
        self.turn.heap.rewind(&from);
        deed
    }

    /// Puts an event and its actor into the heap, and for each other actor that they name one that does nothing: a turn cannot look
    /// into others. `None` when the memory is exhausted.
    fn put_on(
        &mut self,
        situation: &Situation,
        event: usize,
        shapes: &Shapes,
        parts: &Components,
    ) -> Option<Staging> {
        let event = situation.pending[event];
        let held = situation.actors[event.target as usize];
        let (heap, birth) = (&mut self.turn.heap, self.turn.birth);
        let thread = self.turn.around.thread;
        let (mut made, mut known) = (FxHashMap::default(), FxHashMap::default());
        let mut addresses = Vec::new();
        let lists = [
            &[event.target],
            situation.names(held),
            situation.names(event.message),
        ];
        for name in lists.into_iter().flatten() {
            let shape = situation.actors[*name as usize].shape;
            // No timer of a turn has an odd number.
            let id = TimerId {
                serial: u64::from(*name) << 1 | 1,
                thread,
                place: u32::MAX,
            };
            let (value, is_timer) =
                *made
                    .entry(*name)
                    .or_insert_with(|| match shapes.of(shape).is_timer {
                        true => (heap.timer(id), true),
                        false => (heap.actor(birth.of(BehaviourId::SINK), Value::NONE), false),
                    });
            if value.is_none() {
                return None;
            }
            let named = match is_timer {
                true => Referent::timer(id),
                false => Referent::Actor(value.address_pointer()),
            };
            let place = addresses.len() as u32;
            known.entry(named).or_insert(place);
            addresses.push(value);
        }
        let (mine, theirs) = addresses[1..].split_at(held.count as usize);
        let (foreigns, mut stack) = (&parts.foreigns, Vec::new());
        if !shapes.make(held.shape, mine, foreigns, heap, &mut stack) {
            return None;
        }
        let mut captures = stack.iter().rev();
        let capture = |_| captures.next().copied().unwrap_or(Value::UNDEFINED);
        let state = heap.captures(stack.len(), capture)?;
        let target = addresses[0].address_pointer();
        // SAFETY: made above, and nobody else's.
        unsafe { &*target }.set(shapes.behaviour(held.shape), state);
        if !shapes.make(event.message.shape, theirs, foreigns, heap, &mut stack) {
            return None;
        }
        let message = stack.pop()?;
        Some(Staging {
            event: Event { target, message },
            shape: held.shape,
            known,
            next: addresses.len() as u32,
        })
    }

    /// Returns the staged effects of a turn.
    fn staged(
        &mut self,
        staged: Staging,
        verdict: Verdict,
        ordered: bool,
        (shapes, parts): (&mut Shapes, &mut Components),
    ) -> Result<Deed, TooLarge> {
        let Staging {
            event,
            shape,
            known,
            next,
        } = staged;
        let is_ordered = ordered && !shapes.of(shape).is_safe;
        match verdict {
            Verdict::Commits => {}
            // It is there for that.
            Verdict::Ignored if shapes.of(shape).is_sink => {
                return Ok(Deed::nothing(DeedEnd::Commits))
            }
            Verdict::Ignored => return Ok(Deed::nothing(DeedEnd::Ignored)),
            Verdict::Aborted(reason) => {
                let lacks = [Atom::NO_MEMORY, Atom::STOPPED, Atom::KILLED];
                let is_broken = lacks.iter().any(|atom| reason == Value::atom(*atom));
                return Ok(Deed::nothing(match is_broken {
                    true => DeedEnd::Broken,
                    false => DeedEnd::Aborted,
                }));
            }
            Verdict::Postponed => return Ok(Deed::nothing(DeedEnd::Broken)),
        }
        let mut deed = Deed::nothing(DeedEnd::Commits);
        let becomes = self.turn.becoming();
        let given_back = self.turn.unstashed(&mut Vec::new());
        let turn = &self.turn;
        let program = turn.around.program.clone();
        let mut sketching = Sketching::new(&program, shapes, parts, known, next);
        if let Some((behaviour, state)) = becomes {
            // SAFETY: staged by this file, and nobody else's.
            unsafe { &*event.target }.set(behaviour, state);
            deed.becomes = Some(sketching.actor(event.target)?);
        }
        deed.given_back = given_back.len();
        let mut queued: Vec<(Event, bool)> =
            given_back.into_iter().map(|event| (event, false)).collect();
        turn.queue.each_since(&turn.savepoint.queue, |event| {
            queued.push((event, is_ordered))
        });
        deed.drops = turn.at_commit.tally.dropped > 0;
        for step in &turn.at_commit.timers {
            let timer = match step {
                TimerStep::Cancel(timer) | TimerStep::Arm { timer, .. } => timer.as_timer(),
            };
            let Some(id) = timer else { continue };
            match step {
                TimerStep::Cancel(_) => {
                    let name = sketching.name_of(Referent::timer(id));
                    deed.timers.push(TimerDeed::Cancel(name));
                }
                TimerStep::Arm {
                    timer,
                    due,
                    target,
                    message,
                } if target.is_address() => {
                    let (delay, process) = match *due {
                        Due::After(delay) => (Some(delay), None),
                        Due::End(process) => (None, Some(process)),
                    };
                    let sending = Sending {
                        target: sketching.name(target.address_pointer()),
                        message: sketching.timed(*timer, process, *message)?,
                        is_ordered: false,
                    };
                    deed.timers.push(TimerDeed::Arm { delay, sending });
                }
                TimerStep::Arm { .. } => deed.arms_others = true,
            }
        }
        for out in &turn.at_commit.outgoing {
            if !out.target.is_address() {
                let by = sketching.parts.foreign(out.target);
                deed.heard.push((by, sketching.message(out.message)?));
            } else if out.sponsor == Value::atom(self.context.sponsor.name) {
                let (target, message) = (out.target.address_pointer(), out.message);
                queued.push((Event { target, message }, false));
            } else {
                deed.drops = true;
            }
        }
        for (Event { target, message }, is_ordered) in queued {
            deed.queued.push(Sending {
                target: sketching.name(target),
                message: sketching.message(message)?,
                is_ordered,
            });
        }
        deed.creates = sketching.all_found()?;
        Ok(deed)
    }
}
