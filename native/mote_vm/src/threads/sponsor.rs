//! Sponsors: named groups of dispatch threads inside one machine.
use crate::base::atom::Atom;
use crate::base::ids::ThreadNumber;
use crate::base::sync::{Acquire, AtomicBool, Relaxed, Release};
use crate::boundary::batch::Batch;
use crate::boundary::refusal::Refusal;
use crate::boundary::room::Room;
use crate::boundary::sockets::counts::SocketCounts;
use crate::threads::inbox::Wakes;
use crate::threads::parker::Waker;
use crate::threads::start_error::StartError;
use crate::threads::station::Station;
use crate::threads::wake_threshold::WakeThreshold;
use crate::threads::worth_sharing::WorthSharing;
use crate::values::actor::{Actor, SponsorId};
use parking_lot::RwLock;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The configuration of a sponsor.
#[derive(Clone, Debug)]
pub struct SponsorConfig {
    /// Its name.
    pub name: Atom,
    /// Number of dispatch threads, at least 1.
    pub threads: usize,
    /// The cores that its threads are bound to, in turn; empty: not bound.
    pub cores: Vec<usize>,
    /// Number of events that may wait in it before messages from outside are refused.
    pub inbox: usize,
    /// True if a sender outside that does not say otherwise waits for room.
    pub patient: bool,
    /// Its turns run outside of the machine (threads/away.rs), at most this many at once; it has one thread then.
    pub most_away: Option<usize>,
    /// Its threads have sockets (threads/net/).
    pub io: bool,
    /// Each of its threads keeps the actors that it is given from outside; the threads take turns in being given one.
    pub partition: bool,
}

impl SponsorConfig {
    /// Threads that are not bound to cores, and room for as many events as there is memory for.
    pub fn new(name: Atom, threads: usize) -> SponsorConfig {
        SponsorConfig {
            name,
            threads,
            cores: Vec::new(),
            inbox: usize::MAX,
            patient: false,
            most_away: None,
            io: false,
            partition: false,
        }
    }
}

/// The numbers of the cores that this process may run on; none where the system does not say.
pub fn cores() -> Vec<usize> {
    crate::platform::cores::usable()
}

/// A running sponsor.
pub(crate) struct Sponsor {
    pub(crate) id: SponsorId,
    pub(crate) name: Atom,
    pub(crate) started: Instant,
    /// Its threads; the first one takes what comes from elsewhere, unless each takes what is for its actors (`entrance`).
    pub(crate) stations: Vec<Arc<Station>>,
    /// Number of its threads that are asleep: a hint.
    pub(crate) asleep: AtomicUsize,
    /// The amount of waiting work that it takes to wake them.
    pub(crate) worth_waking: WakeThreshold,
    /// Decides whether they share their work.
    pub(crate) worth_sharing: WorthSharing,
    /// Its threads are to end; a turn that runs for long there gives up, and runs once more where its events go.
    pub(crate) removed: Arc<std::sync::atomic::AtomicBool>,
    pub(crate) room: Arc<Room>,
    /// Number of its turns that may be away at once, if they run outside (away.rs).
    pub(crate) most_away: Option<usize>,
    /// The counters of its sockets, if its threads have sockets.
    pub(crate) net: Option<Arc<SocketCounts>>,
    /// Each of its threads keeps the actors that it was given from outside.
    pub(crate) partition: bool,
    /// Number of actors that it was given from outside (`begins_on`).
    given: AtomicUsize,
    /// True while one of its threads gives actors away.
    gives: AtomicBool,
    /// The places of its stations in `stations`, by their numbers.
    places: Vec<Option<u16>>,
    ever_pinned: AtomicBool,
}

impl Sponsor {
    pub(crate) fn new(
        id: SponsorId,
        name: Atom,
        stations: Vec<Arc<Station>>,
        room: Arc<Room>,
    ) -> Sponsor {
        let threads = stations.len();
        let most = stations.iter().map(|s| s.number).max().unwrap_or(0);
        let mut places = vec![None; most as usize + 1];
        for (place, station) in stations.iter().enumerate() {
            places[station.number as usize] = Some(place as u16);
        }
        Sponsor {
            id,
            name,
            started: Instant::now(),
            stations,
            room,
            most_away: None,
            net: None,
            partition: false,
            given: AtomicUsize::new(0),
            asleep: AtomicUsize::new(0),
            worth_waking: WakeThreshold::new(),
            worth_sharing: WorthSharing::new(threads),
            removed: Arc::default(),
            gives: AtomicBool::new(false),
            places,
            ever_pinned: AtomicBool::new(false),
        }
    }

    /// Returns whether its threads share their work.
    #[inline]
    pub(crate) fn shares(&self) -> bool {
        self.stations.len() > 1 && !self.keeps()
    }

    /// Returns whether it has several threads that share no work.
    #[inline]
    pub(crate) fn keeps_apart(&self) -> bool {
        self.stations.len() > 1 && self.keeps()
    }

    /// Returns whether each of its threads keeps its actors: those that it was given from outside, and in an I/O sponsor its sockets and
    /// the sessions of these.
    #[inline]
    fn keeps(&self) -> bool {
        self.partition || self.net.is_some()
    }

    /// The thread on which an actor from outside begins; 0 if that is the first to have an event for it. Threads that share no work
    /// take turns.
    pub(crate) fn begins_on(&self) -> ThreadNumber {
        if !self.keeps() {
            return 0;
        }
        // Relaxed: any order will do.
        let turn = self.given.fetch_add(1, Relaxed);
        self.stations[turn % self.stations.len()].number
    }

    /// Returns the thread by whose inbox messages from outside for an actor enter: its owner where threads keep their actors. It is one
    /// thread as long as no thread of another sponsor runs the actor, so messages keep their order. The lead takes an actor that is
    /// nobody's before the message enters, since another thread could take it meanwhile, and what comes later would enter there.
    ///
    /// # Safety
    ///
    /// The actor is live.
    #[inline]
    pub(crate) unsafe fn entrance(&self, actor: *const Actor) -> &Arc<Station> {
        let lead = self.lead();
        if !self.keeps_apart() {
            return lead;
        }
        // SAFETY: the caller's promise.
        let actor = unsafe { &*actor };
        let mut header = actor.header();
        while header.owner() == 0 {
            actor.take(header, lead.number, None);
            header = actor.header();
        }
        self.station(header.owner()).unwrap_or(lead)
    }

    /// Its thread with the fewest sockets, which has one more now, or is about to.
    pub(crate) fn place_socket(&self) -> &Arc<Station> {
        // Relaxed, all: numbers that guard nothing. Two that look at once may choose the same one.
        let sockets = |station: &&Arc<Station>| station.sockets.load(Relaxed);
        let station = self.stations.iter().min_by_key(sockets);
        let station = station.unwrap_or_else(|| self.lead());
        station.sockets.fetch_add(1, Relaxed);
        station
    }

    /// The place of its station of that number among all of them.
    pub(crate) fn place(&self, number: ThreadNumber) -> usize {
        let place = self.places.get(number as usize).copied().flatten();
        place.map_or(0, usize::from)
    }

    /// Its station of that number.
    #[inline]
    pub(crate) fn station(&self, number: ThreadNumber) -> Option<&Arc<Station>> {
        let place = self.places.get(number as usize).copied().flatten()?;
        self.stations.get(place as usize)
    }

    /// Lets one of its threads at a time give actors away: so those that wait for each other are of two sponsors,
    /// and neither keeps what it has not begun to give.
    pub(crate) fn give(&self) -> Option<Giving<'_>> {
        // Acquire: what the one before has done.
        let first = self
            .gives
            .compare_exchange(false, true, Acquire, Relaxed)
            .is_ok();
        // Made only where it is true: its end is a change of the flag.
        first.then(|| Giving(self))
    }

    /// Wakes that thread of it, to which a message from outside has been pushed (inbox.rs), if it sleeps. A sibling is woken with it
    /// if that has always paid.
    pub(crate) fn entered(&self, station: &Station, wakes: Wakes) {
        // Hints, both: a sibling that is woken too often says so (wake_threshold.rs).
        let sleeps = wakes && self.shares() && station.presence.is_asleep();
        station.pushed(wakes);
        if sleeps && self.worth_waking.has_always_paid() && !self.worth_sharing.pauses() {
            // The sender's core is barred for the lead, and may be the only other one.
            wake_one_of(&self.stations[1..], Waker::Rests);
        }
    }

    /// Puts a batch of messages from outside into the inbox of that thread of it (inbox.rs).
    pub(crate) fn push_batch(
        &self,
        station: &Station,
        batch: Box<Batch>,
    ) -> Result<(usize, Option<Refusal>), Box<Batch>> {
        let (entered, refused, wakes) = station.inbox.push_batch(batch)?;
        self.entered(station, wakes);
        Ok((entered, refused))
    }

    /// The thread that takes what comes from elsewhere.
    pub(crate) fn lead(&self) -> &Arc<Station> {
        &self.stations[0]
    }
}

/// Wakes one of them that sleeps, and is not being woken, to ask its siblings for work.
pub(crate) fn wake_one_of(stations: &[Arc<Station>], waker: Waker) {
    let asleep = |s: &&Arc<Station>| s.presence.is_asleep() && !s.waking.load(Relaxed);
    if let Some(sleeper) = stations.iter().find(asleep) {
        // sharing.rs, invariant 3. Relaxed: a hint.
        sleeper.waking.store(true, Relaxed);
        sleeper.wake_by(waker);
    }
}

/// Held by a thread while it gives actors away.
pub(crate) struct Giving<'a>(&'a Sponsor);

impl Drop for Giving<'_> {
    fn drop(&mut self) {
        self.0.gives.store(false, Release);
    }
}

/// The sponsors of a machine. The first one is there from the start to the end.
#[derive(Default)]
pub(crate) struct Sponsors {
    slots: RwLock<Vec<Slot>>,
    /// The sponsor in the first slot, again, without a lock: every message from outside asks for it.
    first: OnceLock<Arc<Sponsor>>,
}

enum Slot {
    Running(Arc<Sponsor>),
    Free,
    /// Removed, but actors are pinned to it: its number stands for the first sponsor now.
    Gone,
}

impl Sponsors {
    /// Adds the sponsor that `make` builds for a free number.
    pub(crate) fn add(
        &self,
        name: Atom,
        make: impl FnOnce(SponsorId) -> Sponsor,
    ) -> Result<Arc<Sponsor>, StartError> {
        let mut slots = self.slots.write();
        if running(&slots).any(|s| s.name == name) {
            return Err(StartError::Exists);
        }
        let free = slots.iter().position(|slot| matches!(slot, Slot::Free));
        let at = free.unwrap_or(slots.len());
        if at >= SponsorId::LIMIT {
            let gone = slots.iter().filter(|slot| matches!(slot, Slot::Gone));
            return Err(StartError::TooManySponsors { gone: gone.count() });
        }
        let sponsor = Arc::new(make(SponsorId(at as u16)));
        self.first.get_or_init(|| sponsor.clone());
        let slot = Slot::Running(sponsor.clone());
        if at == slots.len() {
            slots.push(slot);
        } else {
            slots[at] = slot;
        }
        Ok(sponsor)
    }

    /// Takes a sponsor out; the first one stays. One caller at a time.
    pub(crate) fn remove(&self, name: Atom) -> Option<Arc<Sponsor>> {
        let found = self.by_name(name)?;
        if found.id.0 == 0 {
            return None;
        }
        // Relaxed: who is turned away sees it by the inbox's lock.
        found.removed.store(true, Relaxed);
        // Before anything else for its actors can enter by the first sponsor. Without the lock, which others want who have an inbox's.
        found.stations.iter().for_each(|s| s.inbox.turn_away());
        self.slots.write()[found.id.0 as usize] = Slot::Gone;
        Some(found)
    }

    /// The threads of a removed sponsor have ended: its number and theirs may be given again, unless actors are
    /// pinned to it; which of the two is the answer.
    pub(crate) fn recycle(&self, sponsor: &Sponsor) -> bool {
        let free = !sponsor.ever_pinned.load(Relaxed);
        if free {
            self.slots.write()[sponsor.id.0 as usize] = Slot::Free;
        }
        free
    }

    /// Notes that an actor is to be pinned to a sponsor, whose number is not given again then; none if it is gone.
    pub(crate) fn pin(&self, is: impl Fn(&Sponsor) -> bool) -> Option<SponsorId> {
        // The lock is held to the end: a thread that takes the sponsor out finds the note.
        let slots = self.slots.read();
        let sponsor = running(&slots).find(|sponsor| is(sponsor))?;
        // Relaxed: ordered by the lock.
        sponsor.ever_pinned.store(true, Relaxed);
        Some(sponsor.id)
    }

    pub(crate) fn by_name(&self, name: Atom) -> Option<Arc<Sponsor>> {
        let slots = self.slots.read();
        let found = running(&slots).find(|s| s.name == name);
        found.cloned()
    }

    /// The sponsor of a number; the first one stands in for those that are gone.
    pub(crate) fn by_id(&self, id: SponsorId) -> Arc<Sponsor> {
        let slots = self.slots.read();
        match slots.get(id.0 as usize) {
            Some(Slot::Running(sponsor)) => sponsor.clone(),
            _ => self.first().clone(),
        }
    }

    /// Returns the sponsor of that number, if it is another one than the first.
    pub(crate) fn other(&self, id: SponsorId) -> Option<Arc<Sponsor>> {
        // The first one has its number to the end, so nobody takes the lock for it.
        let other = (id != self.first().id).then(|| self.by_id(id));
        other.filter(|other| !Arc::ptr_eq(other, self.first()))
    }

    /// Returns the sponsor of that number if its turns run on its threads, or else the first such sponsor.
    pub(crate) fn native(&self, id: Option<SponsorId>) -> Option<Arc<Sponsor>> {
        let is_native = |sponsor: &Sponsor| sponsor.most_away.is_none();
        let found = id.map(|id| self.by_id(id)).filter(|s| is_native(s));
        found.or_else(|| running(&self.slots.read()).find(|s| is_native(s)).cloned())
    }

    /// The first sponsor.
    pub(crate) fn first(&self) -> &Arc<Sponsor> {
        match self.first.get() {
            Some(sponsor) => sponsor,
            None => unreachable!("a machine has its first sponsor before anything runs"),
        }
    }

    pub(crate) fn all(&self) -> Vec<Arc<Sponsor>> {
        running(&self.slots.read()).cloned().collect()
    }
}

fn running(slots: &[Slot]) -> impl Iterator<Item = &Arc<Sponsor>> {
    slots.iter().filter_map(|slot| match slot {
        Slot::Running(sponsor) => Some(sponsor),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(sponsors: &Sponsors, name: &str) -> Result<Arc<Sponsor>, StartError> {
        let name = Atom::new(name);
        sponsors.add(name, |id| {
            Sponsor::new(id, name, Vec::new(), Arc::default())
        })
    }

    #[test]
    fn names_are_unique_and_the_first_stays() {
        let sponsors = Sponsors::default();
        let first = add(&sponsors, "first").ok().unwrap();
        add(&sponsors, "second").ok().unwrap();
        assert!(matches!(add(&sponsors, "second"), Err(StartError::Exists)));
        assert!(sponsors.remove(first.name).is_none());
        assert!(sponsors.remove(Atom::new("second")).is_some());
        assert!(sponsors.by_name(Atom::new("second")).is_none());
    }

    #[test]
    fn who_finds_no_number_learns_how_many_are_not_given_again() {
        let sponsors = Sponsors::default();
        add(&sponsors, "first").ok().unwrap();
        for _ in 1..SponsorId::LIMIT {
            let other = add(&sponsors, "other").ok().unwrap();
            assert_eq!(sponsors.pin(|s| s.name == other.name), Some(other.id));
            sponsors.remove(other.name);
            assert!(!sponsors.recycle(&other));
        }
        let gone = SponsorId::LIMIT - 1;
        assert!(matches!(
            add(&sponsors, "other"),
            Err(StartError::TooManySponsors { gone: found }) if found == gone
        ));
    }

    #[test]
    fn a_number_is_given_again_unless_actors_are_pinned_to_it() {
        let sponsors = Sponsors::default();
        add(&sponsors, "first").ok().unwrap();
        let second = add(&sponsors, "second").ok().unwrap();
        sponsors.remove(second.name);
        assert_eq!(sponsors.by_id(second.id).name.name(), "first");
        assert!(sponsors.recycle(&second));
        let third = add(&sponsors, "third").ok().unwrap();
        assert_eq!(third.id, second.id);
        assert_eq!(sponsors.pin(|s| s.name == third.name), Some(third.id));
        sponsors.remove(third.name);
        assert!(!sponsors.recycle(&third));
        assert_eq!(sponsors.pin(|s| s.id == third.id), None);
        assert_ne!(add(&sponsors, "fourth").ok().unwrap().id, third.id);
    }
}
