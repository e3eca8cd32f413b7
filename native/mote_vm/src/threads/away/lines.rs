//! The turns that are away, and the line of each of their actors: what came for it meanwhile.
//!
//! Invariants:
//! 1. An actor has a line exactly as long as it is away.
//! 2. A collection walks through the events of all turns and lines piece by piece, while the thread whose they are puts in and
//!    takes out (walk.rs).
//! 3. Events in line are charged to the machine's memory, like queued ones, and so is the room that they take.
use crate::base::quota::Quota;
use crate::platform::slab::Slab;
use crate::turns::queue::Event;
use crate::values::actor::Actor;
use crate::values::value::Value;
use crate::values::walk::{Missed, Walkable};
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Room of the tables that is kept: some hundred kilobytes. To grow them anew for each burst of turns takes longer than the rest.
const KEPT: usize = 1 << 13;
const KEPT_BYTES: usize = 2 * KEPT * size_of::<(*const Actor, ActorLine)>();
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq)]
enum AwayPlace {
    /// Its turn is away.
    Away,
    InLine,
}

struct AwayEvent {
    event: Event,
    /// The next event in the line, if this one is in line.
    next: u32,
    place: AwayPlace,
}

/// The first and the last of a line; both are `NONE` where nothing waits.
#[derive(Clone, Copy)]
struct ActorLine {
    first: u32,
    last: u32,
}

#[derive(Default)]
struct LinesState {
    turns: FxHashMap<u64, u32>,
    lines: FxHashMap<*const Actor, ActorLine>,
    events: Slab<AwayEvent>,
    missed: Missed,
    charged: usize,
}

// SAFETY: the actors are plain addresses here, never followed.
unsafe impl Send for LinesState {}

impl LinesState {
    fn put(&mut self, event: Event, next: u32, place: AwayPlace) -> u32 {
        let event = AwayEvent { event, next, place };
        self.events.insert(event).0
    }

    fn take(&mut self, at: u32) -> Option<AwayEvent> {
        let is_ahead = self.events.is_ahead(at);
        let taken = self.events.remove(at)?;
        if is_ahead {
            taken.event.show(|value| self.missed.note(value));
        }
        Some(taken)
    }

    /// Puts an event into the line of its actor, which is away: in front, or behind all others.
    fn line_up(&mut self, event: Event, in_front: bool) {
        let Some(&line) = self.lines.get(&event.target) else {
            return;
        };
        let next = if in_front { line.first } else { NONE };
        let at = self.put(event, next, AwayPlace::InLine);
        let before = if in_front { NONE } else { line.last };
        if let Some(before) = self.events.get_mut(before) {
            before.next = at;
        }
        let is_only = line.first == NONE;
        let line = ActorLine {
            first: if in_front || is_only { at } else { line.first },
            last: if !in_front || is_only { at } else { line.last },
        };
        self.lines.insert(event.target, line);
    }

    fn next_for(&mut self, actor: *const Actor) -> Option<Event> {
        let first = self.lines.get(&actor)?.first;
        let taken = self.take(first)?;
        if let Some(line) = self.lines.get_mut(&actor) {
            line.first = taken.next;
            if taken.next == NONE {
                line.last = NONE;
            }
        }
        Some(taken.event)
    }

    fn lined_up(&self) -> usize {
        self.events.len() - self.turns.len()
    }
}

/// The turns that are away from one thread, and the lines of their actors.
pub(crate) struct Lines {
    state: Mutex<LinesState>,
    quota: Arc<Quota>,
}

impl Lines {
    pub(super) fn new(quota: Arc<Quota>) -> Lines {
        let state = LinesState {
            missed: Missed::new(&quota),
            ..LinesState::default()
        };
        Lines {
            state: Mutex::new(state),
            quota,
        }
    }

    /// Charges what is in line. It was accepted before.
    fn charge(&self, state: &mut MutexGuard<'_, LinesState>) {
        let lined_up = state.lined_up() * size_of::<Event>();
        let tables = state.turns.capacity() * size_of::<(u64, u32)>()
            + state.lines.capacity() * size_of::<(*const Actor, ActorLine)>();
        let charge = lined_up.max(state.events.bytes()) + tables.saturating_sub(KEPT_BYTES);
        self.quota.charge(&mut state.charged, charge);
    }

    /// Returns the number of turns that are away, and the number of events in all lines.
    pub(super) fn figures(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.turns.len(), state.lined_up())
    }

    /// The numbers of the turns that are away.
    pub(super) fn numbers(&self) -> Vec<u64> {
        self.state.lock().turns.keys().copied().collect()
    }

    /// Shows the event of every turn that is away.
    pub(super) fn each_turn(&self, mut show: impl FnMut(Event)) {
        self.state.lock().events.each(|away| {
            if away.place == AwayPlace::Away {
                show(away.event);
            }
        });
    }

    /// Shows every event that waits in line, line by line in their order: none whose turn is away.
    pub(super) fn each_waiting(&self, mut show: impl FnMut(Event)) {
        let state = self.state.lock();
        for line in state.lines.values() {
            let next = |waiting: &&AwayEvent| state.events.get(waiting.next);
            let line = std::iter::successors(state.events.get(line.first), next);
            line.for_each(|waiting| show(waiting.event));
        }
    }

    /// The turn of an event goes away, and so does its actor.
    pub(super) fn leaves(&self, number: u64, event: Event) {
        let mut state = self.state.lock();
        let nothing = ActorLine {
            first: NONE,
            last: NONE,
        };
        state.lines.entry(event.target).or_insert(nothing);
        let at = state.put(event, NONE, AwayPlace::Away);
        state.turns.insert(number, at);
        self.charge(&mut state);
    }

    /// Takes the event of the turn of that number, which has ended.
    pub(super) fn ended(&self, number: u64) -> Option<Event> {
        let mut state = self.state.lock();
        let at = state.turns.remove(&number)?;
        let ended = state.take(at)?;
        self.charge(&mut state);
        Some(ended.event)
    }

    pub(super) fn is_away(&self, actor: *const Actor) -> bool {
        self.state.lock().lines.contains_key(&actor)
    }

    /// Puts events into the line of their actor, all in front, in their order, or all behind. Returns whether the actor is away.
    pub(super) fn line_up(&self, events: &[Event], in_front: bool) -> bool {
        let mut state = self.state.lock();
        let first = events.first();
        let is_away = first.is_some_and(|event| state.lines.contains_key(&event.target));
        if is_away {
            match in_front {
                true => events.iter().rev().for_each(|e| state.line_up(*e, true)),
                false => events.iter().for_each(|e| state.line_up(*e, false)),
            }
            self.charge(&mut state);
        }
        is_away
    }

    /// Takes the next in the line of an actor that comes back; where there is none, it is away no longer.
    pub(super) fn next_for(&self, actor: *const Actor) -> Option<Event> {
        let mut state = self.state.lock();
        let next = state.next_for(actor);
        if next.is_none() {
            forget(&mut state, actor);
        }
        self.charge(&mut state);
        next
    }

    /// Returns the first event in the line of the actor whose turn has that number.
    pub(super) fn behind(&self, number: u64) -> Option<Event> {
        let state = self.state.lock();
        let turn = state.events.get(*state.turns.get(&number)?)?;
        let line = state.lines.get(&turn.event.target)?;
        Some(state.events.get(line.first)?.event)
    }

    /// The number of the turn of that actor, if it is away.
    pub(super) fn number_of(&self, actor: *const Actor) -> Option<u64> {
        let state = self.state.lock();
        let is_of = |at: u32| {
            let turn = state.events.get(at);
            turn.is_some_and(|turn| turn.event.target == actor)
        };
        let found = state.turns.iter().find(|(_, at)| is_of(**at));
        found.map(|(number, _)| *number)
    }

    /// Takes the line of an actor, which is away no longer.
    pub(super) fn take_line(&self, actor: *const Actor) -> Vec<Event> {
        let mut state = self.state.lock();
        let line = std::iter::from_fn(|| state.next_for(actor)).collect();
        forget(&mut state, actor);
        self.charge(&mut state);
        line
    }
}

fn forget(state: &mut LinesState, actor: *const Actor) {
    state.lines.remove(&actor);
    if state.lines.is_empty() && state.lines.capacity() > KEPT {
        state.lines.shrink_to(KEPT);
        state.turns.shrink_to(KEPT);
    }
}

impl Walkable for Lines {
    fn begin(&self) {
        let mut state = self.state.lock();
        state.events.begin_walk();
        state.missed.begin();
    }

    fn walk(&self, most: usize, show: &mut dyn FnMut(Value)) -> bool {
        let mut state = self.state.lock();
        if state.missed.walk(most, &mut *show) {
            return true;
        }
        state.events.walk(most, |away| away.event.show(&mut *show))
    }

    fn each(&self, show: &mut dyn FnMut(Value)) {
        let state = self.state.lock();
        state.events.each(|away| away.event.show(&mut *show));
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.quota.give(self.state.get_mut().charged);
    }
}
