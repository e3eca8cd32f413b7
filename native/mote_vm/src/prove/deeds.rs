//! What turns do. A turn depends on nothing but its actor and its message, and on which of the actors that these name are the
//! same. So it is run once, and what it does is known wherever the same comes together again.
//!
//! Invariants:
//! 1. A deed names actors by where they were named before: 0 is the actor itself, then come those that it holds, those that the
//!    message names, and those that the turn has made, in the order of `creates`.
use super::sent_by::SentBy;
use super::situation::Situation;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A value, and whom it names.
#[derive(Clone, Default)]
pub(super) struct Sketch {
    pub(super) shape: u32,
    pub(super) names: SmallVec<[u32; 4]>,
}

/// The end of a turn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DeedEnd {
    Commits,
    Ignored,
    Aborted,
    /// There was no memory for it, or the machine stops: nothing is known.
    Broken,
}

/// A message that a turn sends to an actor.
pub(super) struct Sending {
    pub(super) target: u32,
    pub(super) message: Sketch,
    /// It comes after what the same actor has sent there before.
    pub(super) is_ordered: bool,
}

impl Sending {
    /// Returns the sender, as far as the order of events depends on it, if that actor sends the event.
    #[inline]
    pub(super) fn sender(&self, me: u32) -> SentBy {
        match self.is_ordered {
            true => SentBy::actor(me),
            false => SentBy::ANY,
        }
    }
}

/// The effect of a turn on a timer.
pub(super) enum TimerDeed {
    /// It is armed for so many milliseconds, or until a process ends. What it will send names the timer first.
    Arm {
        delay: Option<u64>,
        sending: Sending,
    },
    Cancel(u32),
}

/// Everything that a turn does.
pub(super) struct Deed {
    pub(super) end: DeedEnd,
    pub(super) becomes: Option<Sketch>,
    pub(super) creates: Vec<Sketch>,
    /// The events that it queues. The first ones, as many as that, the actor gives back to itself: they come before all others.
    pub(super) queued: Vec<Sending>,
    pub(super) given_back: usize,
    /// The messages to foreign values.
    pub(super) heard: Vec<(u32, Sketch)>,
    /// It sends something to what is no address.
    pub(super) drops: bool,
    /// The effects on timers, in the order of the program.
    pub(super) timers: Vec<TimerDeed>,
    /// It arms a timer whose message goes to the outside.
    pub(super) arms_others: bool,
    /// It draws random numbers.
    pub(super) draws: bool,
    /// It asks what time it is.
    pub(super) asks: bool,
}

impl Deed {
    /// Returns whether it arms a timer for the actor itself.
    pub(super) fn arms_its_own(&self) -> bool {
        let is_own = |deed: &TimerDeed| matches!(deed, TimerDeed::Arm { sending, .. } if sending.target == 0);
        self.timers.iter().any(is_own)
    }

    pub(super) fn nothing(end: DeedEnd) -> Deed {
        Deed {
            end,
            becomes: None,
            creates: Vec::new(),
            queued: Vec::new(),
            given_back: 0,
            heard: Vec::new(),
            drops: false,
            timers: Vec::new(),
            arms_others: false,
            draws: false,
            asks: false,
        }
    }
}

/// The shapes of an actor and of a message; then, for each actor that they name, the first place at which it is named.
type Meeting = SmallVec<[u32; 14]>;

/// Room to make out which deed it is.
#[derive(Default)]
pub(super) struct MeetingRoom {
    meeting: Meeting,
    /// The place where each actor was named first, while a meeting is made out.
    first: Vec<u32>,
}

/// The deeds that are known.
pub(super) struct Deeds {
    known: FxHashMap<Meeting, u32>,
    all: Vec<Deed>,
}

const NOWHERE: u32 = u32::MAX;

impl MeetingRoom {
    /// Returns the actor and the values that come together in the turn of that event.
    #[inline]
    fn meet(&mut self, situation: &Situation, event: usize) -> &[u32] {
        let event = situation.pending[event];
        let held = situation.actors[event.target as usize];
        if self.first.len() < situation.actors.len() {
            self.first.resize(situation.actors.len(), NOWHERE);
        }
        let MeetingRoom { meeting, first } = self;
        meeting.clear();
        meeting.extend([held.shape, event.message.shape]);
        let lists = [
            &[event.target],
            situation.names(held),
            situation.names(event.message),
        ];
        let names = lists.iter().flat_map(|names| names.iter());
        for (at, name) in (0..).zip(names) {
            let place = &mut first[*name as usize];
            if *place == NOWHERE {
                *place = at;
            }
            meeting.push(*place);
        }
        for name in lists.iter().flat_map(|names| names.iter()) {
            first[*name as usize] = NOWHERE;
        }
        meeting
    }
}

impl Deeds {
    /// The number of what a turn does that is aborted, or that never is.
    pub(super) const NOTHING: u32 = 0;

    pub(super) fn new() -> Deeds {
        Deeds {
            known: FxHashMap::default(),
            all: vec![Deed::nothing(DeedEnd::Commits)],
        }
    }

    #[inline]
    pub(super) fn of(&self, number: u32) -> &Deed {
        &self.all[number as usize]
    }

    /// Bytes of the tables, about.
    pub(super) fn bytes(&self) -> usize {
        self.all.len() * (size_of::<Deed>() + 2 * size_of::<Sending>() + size_of::<Meeting>())
    }

    /// The number of what a turn of that event does, if it is known.
    #[inline]
    pub(super) fn find(
        &self,
        situation: &Situation,
        event: usize,
        room: &mut MeetingRoom,
    ) -> Option<u32> {
        self.known.get(room.meet(situation, event)).copied()
    }

    /// Notes what the turn of that event does.
    pub(super) fn note(&mut self, situation: &Situation, event: usize, deed: Deed) {
        let meeting = Meeting::from_slice(MeetingRoom::default().meet(situation, event));
        self.known.insert(meeting, self.all.len() as u32);
        self.all.push(deed);
    }
}
